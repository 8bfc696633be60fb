"""What is wrong with an experiment file is said in sentences that name the place and the nearest right word."""

from __future__ import annotations

import json

import pytest

from workbench.engine.errors import InvalidDocument
from workbench.experiments.spec import experiment_read

RIGHT = {"name": "Tone", "dataset": "labels-mini", "configurations": [{"topology": "chain"}]}


@pytest.mark.parametrize(
    ("change", "path", "sentence"),
    [
        ({"repetitons": 2}, "/repetitons", "repetitons: there is no such field. Did you mean 'repetitions'?"),
        (
            {"configurations": [{"topology": "chain", "overides": {}}]},
            "/configurations/0/overides",
            "configurations 1 overides: there is no such field. Did you mean 'overrides'?",
        ),
        (
            {"configurations": [{"topology": "chain", "overrides": {"params": {"temprature": 1}}}]},
            "/configurations/0/overrides/params/temprature",
            "configurations 1 overrides params temprature: there is no such field. Did you mean 'temperature'?",
        ),
        (
            {"configurations": [{"topology": "chain", "overrides": {"model": "gpt"}}]},
            "/configurations/0/overrides/model",
            "configurations 1 overrides model: a model is written provider/name, as in ollama/qwen3.5:9b; 'gpt' is not.",
        ),
        (
            {"configurations": [{"topology": "a b"}]},
            "/configurations/0/topology",
            "configurations 1 topology: a topology is named as it is listed, or NAME@COMMIT for an older version; 'a b' "
            "is not.",
        ),
        ({"configurations": []}, "/configurations", "configurations: it must not be empty."),
        ({"repetitions": 0}, "/repetitions", "repetitions: it must be at least 1; it is 0."),
        ({"repetitions": "two"}, "/repetitions", 'repetitions: it must be a whole number; it is "two".'),
        ({"evaluators": "bleu"}, "/evaluators", 'evaluators: it must be a list, in brackets; it is "bleu".'),
        ({"limits": {"tokens": "x"}}, "/limits/tokens", 'limits tokens: it must be a whole number; it is "x".'),
        ({"dataset": None}, "/dataset", "dataset: it must be text; it is null."),
    ],
)
def test_each_fault_is_named_with_its_place(change, path, sentence):
    with pytest.raises(InvalidDocument) as raised:
        experiment_read(json.dumps({**RIGHT, **change}))

    (problem,) = raised.value.problems
    assert (problem.path, problem.message) == (path, sentence)


def test_all_faults_are_said_at_once_and_what_may_stand_there():
    with pytest.raises(InvalidDocument) as raised:
        experiment_read('{"nam": "x", "configurations": [{"topolgy": "chain"}]}')

    messages = [problem.message for problem in raised.value.problems]
    assert "name: it is missing, and nothing can be run without it." in messages
    assert "dataset: it is missing, and nothing can be run without it." in messages
    assert "nam: there is no such field. Did you mean 'name'?" in messages
    assert "configurations 1 topolgy: there is no such field. Did you mean 'topology'?" in messages
    hints = [problem.hint for problem in raised.value.problems if problem.path == "/configurations/0/topolgy"]
    assert hints == ["Known are topology, label, overrides."]
