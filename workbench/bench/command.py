"""The command `workbench bench`."""

from __future__ import annotations

import json
from typing import Any

import click


@click.group()
def bench() -> None:
    """Measure what runs cost on this machine. Nothing of yours is read or written."""


@bench.command()
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=20, show_default=True, help="Measurements per median.")
@click.option("--loops", type=click.IntRange(1, 10_000), multiple=True, help="How many loops; repeatable.")
def engine(as_json: bool, repeat: int, loops: tuple[int, ...]) -> None:
    """The engine alone: compiling, planning, scheduling; medians, no model server."""
    from workbench.bench.engine import engine_figures

    show(engine_figures(repeat, loops), as_json)


@bench.command()
@click.option("--runs", type=click.IntRange(1, 100_000), default=200, show_default=True, help="Runs of the experiment.")
@click.option("--calls", type=click.IntRange(1, 100), default=4, show_default=True, help="Model calls in each run.")
@click.option(
    "--latency", type=click.FloatRange(0, 60), default=0.2, show_default=True, help="Seconds that each answer takes."
)
@click.option("--concurrency", type=click.IntRange(1, 10_000), default=64, show_default=True, help="Runs at once.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def experiment(runs: int, calls: int, latency: float, concurrency: int, as_json: bool) -> None:
    """A whole experiment: broker, database, two workers and HTTP to a model server that answers after LATENCY seconds.

    `ideal_s` is what the models' waiting alone would take, `ratio` the share of it in the time that it took.
    """
    from workbench.bench.experiment import Load, experiment_figures

    show(experiment_figures(Load(runs, calls, latency, concurrency)), as_json)


@bench.command()
@click.option("--experiments", type=click.IntRange(2, 1000), default=20, show_default=True, help="Experiments.")
@click.option("--runs", type=click.IntRange(2, 100_000), default=500, show_default=True, help="Runs of each.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=5, show_default=True, help="Measurements per median.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def pages(experiments: int, runs: int, repeat: int, as_json: bool) -> None:
    """Every list, run and results page over a database of its own with so many runs: server time and SQL queries."""
    from workbench.bench.pages import Fill, pages_figures

    show(pages_figures(Fill(experiments, runs), repeat), as_json)


@bench.command()
@click.option("--nodes", type=click.IntRange(3, 5000), default=200, show_default=True, help="Nodes of the topology.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=20, show_default=True, help="Measurements per median.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def editor(nodes: int, repeat: int, as_json: bool) -> None:
    """What the server takes to answer one command of the editor, over a topology of so many nodes."""
    from workbench.bench.editor import editor_figures

    show(editor_figures(nodes, repeat), as_json)


@bench.command()
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "--events",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    default=(1000, 10_000),
    show_default=True,
    help="How many events of short calls; repeatable.",
)
def journal(as_json: bool, events: tuple[int, ...]) -> None:
    """The journal alone: CPU and bytes for each event that is committed to SQLite."""
    from workbench.bench.journal_figures import journal_figures

    show(journal_figures(events), as_json)


def show(figures: dict[str, Any], as_json: bool) -> None:
    """JSON, or a line per figure."""
    if as_json:
        click.echo(json.dumps(figures, indent=2))
        return
    for name, value in flat(figures):
        click.echo(f"{name}: {value:g}" if isinstance(value, float) else f"{name}: {value}")


def flat(figures: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Nested figures as `outer.inner`."""
    found = []
    for name, value in figures.items():
        found += flat(value, f"{before}{name}.") if isinstance(value, dict) else [(before + name, value)]
    return found
