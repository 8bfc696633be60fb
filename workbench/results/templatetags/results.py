"""What the results pages say numbers with, and the addresses of the runs behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django import template
from django.urls import reverse

from workbench.experiments.models import Configuration

if TYPE_CHECKING:  # the table loads scipy
    from workbench.results.table import Metric

register = template.Library()


@register.filter
def says(metric: Metric, value: float | None) -> str:
    """A value of the metric, as a table says it."""
    return metric.text(value)


@register.simple_tag
def runs_of(configuration: Configuration, status: str = "", code: str = "") -> str:
    """The list of a configuration's runs, narrowed to a status and a kind of failure."""
    given = {
        "experiment": configuration.experiment_id,
        "configuration": configuration.pk,
        "status": status,
        "code": code,
    }
    return f"{reverse('run_list')}?{urlencode({key: value for key, value in given.items() if value})}"


@register.filter
def points(metric: Metric, value: float | None) -> str:
    """A difference with its sign: percentage points for rates."""
    if value is None:
        return "unknown"
    text = f"{value * 100:+.1f} points" if metric.is_rate else f"{value:+.3g}" if metric.scale <= 1 else f"{value:+.1f}"
    return text.replace("-", "\N{MINUS SIGN}")


@register.filter
def p_value(value: float | None) -> str:
    """A p-value with two digits; never 0."""
    from workbench.results.comparison import p_text

    return p_text(value)
