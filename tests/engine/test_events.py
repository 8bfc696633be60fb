"""The journal's format: one schema for all that can happen, which what is written fits."""

from __future__ import annotations

import json
from typing import get_args

import jsonschema
import pytest

from tests.engine.support import run
from tests.engine.test_replay import SCRIPT, WHOLE
from workbench.engine.events import EVENT, Event, event_schema

KINDS = get_args(get_args(Event)[0])


def test_schema_holds_every_kind_of_event_by_its_tag():
    schema = event_schema()

    assert schema["title"] == "workbench.event/1"
    assert set(schema["discriminator"]["mapping"]) == {kind.model_fields["kind"].default for kind in KINDS}
    assert all(schema["$defs"][kind.__name__]["description"] for kind in KINDS)


def test_events_of_a_run_fit_the_schema_and_read_back(tmp_path):
    _, journal = run(WHOLE, SCRIPT, workspace=tmp_path)
    valid = jsonschema.Draft202012Validator(event_schema())

    for event in journal.events:
        line = event.model_dump_json()
        valid.validate(json.loads(line))
        assert EVENT.validate_json(line).model_dump_json() == line


def test_event_of_no_known_kind_does_not_fit():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"kind": "dreamt", "at": 1.0}, event_schema())
