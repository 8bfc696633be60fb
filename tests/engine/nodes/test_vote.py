from __future__ import annotations

from tests.engine.support import asks, run, topology


def vote(answers, script=None, outputs=None, **fields):
    names = [f"a{number}" for number in range(len(answers))]
    nodes = {name: asks("p", **({"output": outputs} if outputs else {})) for name in names}
    document = topology(
        {"s": {"type": "literal", "content": "x"}, **nodes, "v": {"type": "vote", **fields}},
        [("s", name) for name in names] + [(name, "v") for name in names],
    )
    return run(document, {"nodes": dict(zip(names, [[answer] for answer in answers], strict=True)) | (script or {})})[0]


def test_most_frequent_answer_wins_without_case_and_punctuation():
    assert vote(["Yes.", "no", " yes "]).output == "Yes."


def test_texts_are_compared_as_they_are_when_asked():
    assert vote(["Yes.", "no", "no"], normalise=False).output == "no"
    assert vote(["Yes.", "yes", "no"], normalise=False).output == "Yes."


def test_draw_goes_to_the_first_in_edge_order():
    assert vote(["b", "a"]).output == "b"


def test_best_by_a_number_in_the_answer():
    schema = {"json_schema": {"type": "object"}}

    assert (
        vote(['{"score": 1}', '{"score": 3}', '{"x": 9}'], outputs=schema, by={"field": "score"}).output
        == '{"score": 3}'
    )


def test_no_number_anywhere_is_a_failure():
    result = vote(["a", "b"], by={"field": "score"})

    assert (result.status, result.code) == ("failed", "no_answers")


def test_judge_model_picks_one():
    result = vote(["a", "b", "c"], {"v": ['{"best": 2}']}, by="judge", model="scripted/x")

    assert (result.output, result.usage.model_calls) == ("b", 4)


def test_judge_is_not_asked_about_a_single_answer():
    assert vote(["only"], by="judge", model="scripted/x").usage.model_calls == 1
