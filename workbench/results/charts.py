"""Outcome against cost as a picture: a Vega-Lite dict, drawn here as SVG or PNG, so that no script is needed."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from workbench.results.table import Metric, ResultRow, ResultTable

Spec = dict[str, Any]

AXIS_TITLES = {
    "tokens": "Tokens per run (mean)",
    "seconds": "Seconds per run (mean)",
    "money": "US dollars per run (mean)",
}
LABEL_LENGTH = 44


class Colours(NamedTuple):
    """The page's colours, as plain values: a picture knows nothing of the page's style sheet."""

    background: str
    text: str
    muted: str
    line: str
    front: str
    on_front: str
    other: str
    on_other: str


SIZES = {"large": {"width": 620, "height": 360}, "small": {"width": 290, "height": 280}}

THEMES = {
    "light": Colours("#ffffff", "#1b1f24", "#59606a", "#e6e3da", "#0b5a6a", "#ffffff", "#59606a", "#ffffff"),
    "dark": Colours("#181d24", "#e8eaed", "#a3acb8", "#2c343f", "#63c7d6", "#06222a", "#a3acb8", "#11151a"),
}


def chart_spec(table: ResultTable, theme: str = "light", size: str = "large") -> Spec:
    """The picture of a table: points with 95 % intervals, letters of the rows, the Pareto front as a stair."""
    colours = THEMES[theme]
    rows = table.drawn
    points = [point(row) for row in rows]
    front = sorted((one for one in points if one["front"]), key=lambda one: one["cost"])
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        **SIZES[size],
        "padding": {"left": 12, "top": 16, "right": 24, "bottom": 12},
        "background": colours.background,
        "config": config(colours),
        "layer": [
            layer(table, front, {"type": "line", "interpolate": "step-after", "strokeDash": [5, 4]}, colours.front),
            error_bars(table, points, colours),
            circles(table, points, colours, columns=2 if size == "large" else 1),
            letters(table, points, colours),
        ],
    }


def point(row: ResultRow) -> Spec:
    """A row as the picture's data."""
    label = printable(row.configuration.label)
    short = label if len(label) <= LABEL_LENGTH else label[: LABEL_LENGTH - 1] + "…"
    return {
        "letter": row.letter,
        "key": f"{row.letter}  {short}",
        "cost": row.cost,
        "value": row.outcome.value,
        "low": row.outcome.low,
        "high": row.outcome.high,
        "front": row.on_front,
    }


def printable(text: str) -> str:
    """Text that may stand in XML: names can hold anything."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def config(colours: Colours) -> Spec:
    """Quiet axes, the page's letters."""
    axis = {
        "labelColor": colours.muted,
        "titleColor": colours.text,
        "gridColor": colours.line,
        "domainColor": colours.muted,
        "tickColor": colours.line,
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": 500,
        "titlePadding": 10,
    }
    return {
        "font": "system-ui, Helvetica, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": axis,
        "legend": {
            "labelColor": colours.text,
            "labelFontSize": 12,
            "labelLimit": 360,
            "symbolSize": 120,
            "columnPadding": 28,
        },
    }


def layer(table: ResultTable, values: list[Spec], mark: Spec, colour: str, **encoding: Spec) -> Spec:
    """One layer on the shared axes."""
    metric = table.metric
    assert metric is not None  # nothing is drawn without an evaluation
    return {
        "data": {"values": values},
        "mark": {"color": colour, **mark},
        "encoding": {
            "x": {
                "field": "cost",
                "type": "quantitative",
                "scale": {"domainMin": 0, "domainMax": widest(table), "nice": True},
                "axis": {"title": AXIS_TITLES[table.choice.axis], "tickCount": 6},
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "scale": y_scale(metric, table),
                "axis": {
                    "title": f"{metric.name}{f' ({metric.unit})' if metric.unit else ''}",
                    **({"format": ".0%"} if metric.is_rate else {}),
                    "tickCount": 5,
                },
            },
            **encoding,
        },
    }


def widest(table: ResultTable) -> float:
    """Where the cost axis ends: a little beyond the dearest; 1 where everything is free."""
    return 1.08 * max((row.cost or 0.0 for row in table.drawn), default=0.0) or 1.0


def y_scale(metric: Metric, table: ResultTable) -> Spec:
    """Shares and scores up to 1 are shown on the whole scale, others as far as the numbers and intervals go."""
    if metric.is_rate or metric.scale == 1:
        return {"domain": [0, 1]}
    ends = [end for row in table.drawn for end in row.outcome[:3] if end is not None]
    return {"domain": [min(0.0, *ends), max(0.0, *ends) * 1.04 or 1.0], "nice": True}


def error_bars(table: ResultTable, points: list[Spec], colours: Colours) -> Spec:
    """The 95 % intervals; a point without one has no bar."""
    drawn = layer(
        table,
        [one for one in points if one["low"] is not None],
        {"type": "rule", "strokeWidth": 1.5, "opacity": 0.75},
        colours.muted,
        y2={"field": "high"},
    )
    drawn["encoding"]["y"] = {**drawn["encoding"]["y"], "field": "low"}
    return drawn


def circles(table: ResultTable, points: list[Spec], colours: Colours, *, columns: int) -> Spec:
    """The points, with the key below the picture."""
    key = {
        "field": "key",
        "type": "nominal",
        "scale": {
            "domain": [one["key"] for one in points],
            "range": [colours.front if one["front"] else colours.other for one in points],
        },
        "legend": {"orient": "bottom", "columns": columns, "title": None, "offset": 18, "rowPadding": 6},
    }
    return layer(table, points, {"type": "circle", "size": 430, "opacity": 1}, colours.front, color=key)


def letters(table: ResultTable, points: list[Spec], colours: Colours) -> Spec:
    """A letter in every point, so that colour is not the only sign."""
    mark = {"type": "text", "fontSize": 12, "fontWeight": 600, "baseline": "middle", "dy": 1}
    colour = {"condition": {"test": "datum.front", "value": colours.on_front}, "value": colours.on_other}
    return layer(table, points, mark, colours.on_other, text={"field": "letter"}, color=colour)


def chart_draw(table: ResultTable, *, theme: str = "light", size: str = "large", as_png: bool = False) -> bytes:
    """The picture's bytes."""
    return drawn(json.dumps(chart_spec(table, theme, size), sort_keys=True), as_png)


@lru_cache(maxsize=64)
def drawn(spec: str, as_png: bool) -> bytes:
    """Drawing takes about 0.1 s, the first time of a process 0.7 s: the same numbers are drawn once."""
    import vl_convert  # starts a JavaScript engine

    if as_png:
        return bytes(vl_convert.vegalite_to_png(spec, scale=2))
    return str(vl_convert.vegalite_to_svg(spec)).encode()


def chart_notice(theme: str) -> str:
    """A picture that says why there is none."""
    colours = THEMES[theme]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="480" height="80" viewBox="0 0 480 80">'
        f'<rect width="480" height="80" fill="{colours.background}"/>'
        f'<text x="24" y="46" font-family="system-ui, sans-serif" font-size="14" fill="{colours.muted}">'
        "Nothing to draw yet: outcome or cost is unknown.</text></svg>"
    )
