"""How pages say numbers and times: unknown is a word, small sums keep their digits."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.template import Context, Template
from django.utils import timezone


def said(expression: str, **values: object) -> str:
    return Template("{% load workbench %}{{ " + expression + " }}").render(Context(values))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0, "0.0 s"),
        (0.042, "0.04 s"),
        (4.25, "4.2 s"),
        (48.4, "48 s"),
        (119.6, "2 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (3_600_000, "1,000 h 0 min"),
    ],
)
def test_seconds_have_the_digits_that_matter(value, text):
    assert said("value|seconds", value=value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0, "$0"),
        (Decimal("1234.5"), "$1,234.50"),
        (Decimal("0.0035"), "$0.00350"),
        (0.00000123, "$0.00000123"),
        (Decimal("0.01"), "$0.01"),
    ],
)
def test_money_is_never_rounded_to_nothing(value, text):
    assert said("value|money", value=value) == text


def test_unknown_is_a_word_and_never_zero():
    for name in ("seconds", "money", "count", "percent"):
        assert said(f"value|{name}", value=None) == "unknown"
        assert said(f"run.missing.value|{name}", run={}) == "unknown"


def test_thousands_and_shares():
    assert said("value|count", value=1284301) == "1,284,301"
    assert said("value|percent", value=0.625) == "62.5 %"


def test_time_tells_how_long_ago_and_exactly_when():
    text = said("value|ago", value=timezone.now() - timedelta(hours=3))

    assert "3\xa0hours ago" in text
    assert "<time datetime=" in text
    assert "just now" in said("value|ago", value=timezone.now())
    assert said("value|ago", value=None) == "–"
