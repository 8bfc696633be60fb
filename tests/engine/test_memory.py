"""What stands on a blackboard, and which passages fit a question."""

from __future__ import annotations

from workbench.engine.events import MessageData
from workbench.engine.memory import MAX_PASSAGE, Passage, best_passages, board_text, passages


def visits(*texts):
    return [(MessageData(text=text),) for text in texts]


def test_a_blackboard_goes_round_by_round_and_leaves_out_what_failed():
    failed = [(MessageData(text="", status="failed"),), *visits("b2")]

    assert board_text({"a": visits("a1", "a2"), "b": failed}) == "a: a1\n\na: a2\n\nb: b2"


def test_a_text_is_cut_between_paragraphs_and_a_long_one_anywhere():
    long = "x" * (MAX_PASSAGE + 10)

    found = passages([("one", "First.\n\nSecond."), ("two", f"Short.\n\n{long}"), ("none", " \n\n ")])

    assert found[0] == Passage("one", "First.\n\nSecond.")
    assert [len(passage.text) <= MAX_PASSAGE for passage in found] == [True] * 4
    assert {passage.source for passage in found} == {"one", "two"}


def test_the_best_passages_share_most_with_the_question_and_equal_ones_keep_their_order():
    found = passages(
        [("a", "Rivers run to the sea."), ("b", "Tea, tea."), ("c", "The sea is wide."), ("d", "Tea, tea.")]
    )

    assert {passage.source for passage in best_passages(found, "the SEA", 2)} == {"a", "c"}
    assert [passage.source for passage in best_passages(found, "tea", 5)] == ["b", "d"]


def test_nothing_is_found_where_there_is_nothing_to_find():
    assert best_passages([], "tea", 3) == []
    assert best_passages([Passage("a", "Tea.")], "?!", 3) == []
    assert best_passages([Passage("a", "Tea.")], "coffee", 3) == []
