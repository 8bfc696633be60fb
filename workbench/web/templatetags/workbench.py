"""What templates say numbers and times with, and the navigation. Unknown is a word, never 0."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from django import template
from django.template import Context
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

register = template.Library()

UNKNOWN = "unknown"
MISSING = (None, "")  # Django hands on "" where a path in a template leads nowhere
SECTIONS = (
    ("experiment_list", "Experiments", ("/experiments/", "/runs/", "/evaluations/")),
    ("topology_list", "Topologies", ("/topologies/",)),
    ("agent_list", "Agents", ("/agents/",)),
    ("model_list", "Models", ("/models/",)),
    ("dataset_list", "Datasets", ("/datasets/",)),
    ("question_list", "Questions", ("/questions/",)),
)


COUNTS = {"Questions": "question_count"}
"""Sections with a number beside them, and the page that tells it."""


class Section(NamedTuple):
    """An entry of the navigation; `current` is what `aria-current` says, or nothing; `number` the page that tells its
    number."""

    url: str
    label: str
    current: str
    number: str = ""


@register.simple_tag(takes_context=True)
def sections(context: Context) -> list[Section]:
    """The navigation, with the section that the page belongs to marked."""
    request = context.get("request")
    path = request.path if request else ""
    return [
        Section(url, label, _current(path, url, prefixes), url_or_empty(COUNTS.get(label, "")))
        for url, label, prefixes in _addresses()
    ]


def _addresses() -> list[tuple[str, str, tuple[str, ...]]]:
    return [(url, label, prefixes) for name, label, prefixes in SECTIONS if (url := url_or_empty(name))]


def _current(path: str, url: str, prefixes: tuple[str, ...]) -> str:
    if path == url:
        return "page"
    return "true" if path.startswith(prefixes) else ""


@register.simple_tag
def url_or_empty(name: str, *args: Any) -> str:
    """The address of a page that another app may contribute; empty where none does."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


@register.filter
def seconds(value: Any) -> str:
    """A duration with the digits that matter: `0.42 s`, `48 s`, `3 min 20 s`, `2 h 5 min`."""
    if value in MISSING:
        return UNKNOWN
    value = float(value)
    if value < 10:
        return f"{value:.2f} s" if 0 < value < 1 else f"{value:.1f} s"
    if value < 119.5:
        return f"{value:.0f} s"
    whole = round(value)
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(value / 60)
    return f"{minutes // 60:,} h {minutes % 60} min"


@register.filter
def money(value: Any) -> str:
    """US dollars: cents from one cent up, three significant digits below it."""
    if value in MISSING:
        return UNKNOWN
    amount = Decimal(str(value))
    if amount == 0:
        return "$0"
    if abs(amount) >= Decimal("0.01"):
        return f"${amount:,.2f}"
    places = 2 - amount.adjusted()
    return f"${amount:.{places}f}"


@register.filter
def count(value: Any) -> str:
    """A whole number with its thousands set apart."""
    return UNKNOWN if value in MISSING else f"{round(value):,}"


@register.filter
def percent(value: Any) -> str:
    """A share between 0 and 1, as percent with one digit."""
    return UNKNOWN if value in MISSING else f"{float(value) * 100:.1f} %"


@register.filter
def ago(value: Any) -> SafeString | str:
    """How long ago, with the exact time for machines and for whoever points at it."""
    if value in MISSING:
        return "–"
    age = (timezone.now() - value).total_seconds()
    text = "just now" if age < 60 else f"{timesince(value, depth=1)} ago"
    exact = timezone.localtime(value)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', exact.isoformat(), exact.strftime("%Y-%m-%d %H:%M:%S %Z"), text
    )
