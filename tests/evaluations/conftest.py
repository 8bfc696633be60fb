"""Evaluators that only tests have, beside those that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

import evaluators
from workbench.engine.evaluation import EVALUATORS


@pytest.fixture(autouse=True)
def _test_evaluators(monkeypatch):
    folder = str(Path(__file__).parent / "plugins")
    monkeypatch.setattr(evaluators, "__path__", [*evaluators.__path__, folder])
    EVALUATORS.__dict__.pop("_names", None)
    yield
    EVALUATORS.__dict__.pop("_names", None)
