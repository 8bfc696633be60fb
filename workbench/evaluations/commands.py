"""`workbench score`: judge a file of predictions against a file of references, without a database."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click

from workbench.datasets.rows import MAX_BYTES, InvalidLines, json_rows, line_problem, text_of
from workbench.engine.errors import EvaluationError, InvalidDocument, Problem, WorkbenchError
from workbench.engine.evaluation import EvaluationInstance, Pair, Score
from workbench.engine.plugins import nearest
from workbench.evaluations.options import evaluator_ready

SHOWN = 20
"""So many ids or lines are named in a refusal; the rest is counted."""


class Line(NamedTuple):
    """A line's value, under its instance id."""

    instance_id: str
    value: Any


@click.command()
@click.argument("evaluator")
@click.option(
    "--predictions", type=click.Path(path_type=Path), required=True, help='Lines of {"instance_id", "prediction"}.'
)
@click.option(
    "--references",
    type=click.Path(path_type=Path),
    required=True,
    help='Lines of {"instance_id", "reference": text or [texts]}.',
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the evaluator; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def score(evaluator: str, predictions: Path, references: Path, options: tuple[str, ...], as_json: bool) -> None:
    """Judge PREDICTIONS against REFERENCES with EVALUATOR."""
    try:
        judge = evaluator_ready(evaluator, options_read(options))
        pairs = pairs_read(predictions, references)
        scores = judge.evaluate_many(pairs)
        metrics = judge.summarise(scores)
    except WorkbenchError as error:
        complain(error)
        sys.exit(2)
    rows = [{"instance_id": pair.instance.id, **one._asdict()} for pair, one in zip(pairs, scores, strict=True)]
    if as_json:
        click.echo(json.dumps({"metrics": metrics, "scores": rows}, ensure_ascii=False, indent=2))
    else:
        click.echo(table(metrics, pairs, scores))


def options_read(options: tuple[str, ...]) -> dict[str, Any]:
    """The options as the evaluator's schema reads them: what looks like a JSON list or object is one, else text."""
    found: dict[str, Any] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise EvaluationError(f"--option {option!r} must be written KEY=VALUE.")
        if key in found:
            raise EvaluationError(f"--option {key} stands twice.")
        found[key] = option_value(key, value)
    return found


def option_value(key: str, value: str) -> Any:
    """The value of one option."""
    if not value.startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise EvaluationError(f"--option {key} is not JSON: {error}.") from error


def pairs_read(predictions: Path, references: Path) -> list[Pair]:
    """Predictions beside their instances, in the predictions' order. Raises `WorkbenchError` for what is amiss."""
    given = lines_read(predictions, "prediction", one_text)
    accepted = lines_read(references, "reference", texts)
    known = {line.instance_id: line.value for line in accepted}
    answered = {line.instance_id for line in given}
    missing = [line.instance_id for line in accepted if line.instance_id not in answered]
    extra = [line.instance_id for line in given if line.instance_id not in known]
    faults = []
    if missing:
        faults.append(f"{predictions.name} has no prediction for {listed(missing)}.")
    if extra:
        faults.append(f"{references.name} has no reference for {listed(extra)}.")
    if faults:
        raise EvaluationError(" ".join(faults))
    return [Pair(value, EvaluationInstance(key, references=tuple(known[key]))) for key, value in given]


def lines_read(path: Path, field: str, read: Any) -> list[Line]:
    """Every line's value under its id. Raises `InvalidLines` naming every bad line, `EvaluationError` for the file."""
    lines: list[Line] = []
    problems: list[Problem] = []
    first: dict[str, int] = {}
    for row in json_rows(text_read(path)):
        found = list(row.problems) or shape_problems(row.line, row.data, field)
        reason = "" if found else read(row.data[field])
        if reason:
            found = [line_problem(row.line, field, reason)]
        if not found:
            key = row.data["instance_id"]
            before = first.setdefault(key, row.line)
            if before != row.line:
                found = [line_problem(row.line, "instance_id", f"{key!r} stands in line {before:,} already.")]
            value = row.data[field]
            lines.append(Line(key, [value] if field == "reference" and isinstance(value, str) else value))
        problems += found
    if problems:
        raise InvalidLines([one._replace(message=f"{path.name}: {one.message}") for one in problems])
    if not lines:
        raise EvaluationError(f"{path.name} holds no line: there is nothing to score.")
    return lines


def text_read(path: Path) -> str:
    """The file's text. Raises `InvalidLines` that names the file."""
    try:
        return text_of(file_bytes(path))
    except InvalidLines as error:
        named = [problem._replace(message=f"{path.name}: {problem.message}") for problem in error.problems]
        raise InvalidLines(named) from error


def file_bytes(path: Path) -> bytes:
    """What the file holds, read no further than the limit."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise EvaluationError(f"{path} can't be read: {(error.strerror or str(error)).lower()}.") from error


def shape_problems(line: int, data: dict[str, Any], field: str) -> list[Problem]:
    """Fields that are missing or unknown, and an id that is none."""
    names = ["instance_id", field]
    problems = [
        line_problem(line, repr(name), f"there is no such field.{nearest(name, names)}", f"Fields: {', '.join(names)}.")
        for name in data
        if name not in names
    ]
    problems += [line_problem(line, name, "it is missing.") for name in names if name not in data]
    key = data.get("instance_id", "x")
    if not isinstance(key, str) or not key:
        problems.append(line_problem(line, "instance_id", "it must be text, and not empty."))
    return problems


def one_text(value: Any) -> str:
    """Why the value is no prediction, or nothing."""
    return "" if isinstance(value, str) else "it must be text."


def texts(value: Any) -> str:
    """Why the value is no reference, or nothing."""
    if isinstance(value, str):
        return ""
    if not isinstance(value, list) or not value:
        return "it must be text, or a list of at least one text."
    return "" if all(isinstance(text, str) for text in value) else "every entry must be text."


def listed(ids: list[str]) -> str:
    """The ids, the first twenty by name."""
    named = ", ".join(repr(key) for key in ids[:SHOWN])
    return f"{named} and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else named


def complain(error: WorkbenchError) -> None:
    """Every problem on a line of its own, with what to do about it."""
    if not isinstance(error, InvalidDocument):
        click.echo(f"workbench: {error}", err=True)
        return
    for problem in error.problems[:SHOWN]:
        click.echo(f"workbench: {problem.message} {problem.hint}".rstrip(), err=True)
    total = error.total if isinstance(error, InvalidLines) else len(error.problems)
    if total > SHOWN:
        click.echo(f"workbench: … and {total - SHOWN:,} more.", err=True)


def table(metrics: dict[str, Any], pairs: list[Pair], scores: list[Score]) -> str:
    """The metrics, then a line for each instance."""
    width = max(len(name) for name in metrics)
    lines = [f"{name:<{width}}  {shown(value)}" for name, value in metrics.items()]
    width = max(len("instance"), *(len(pair.instance.id) for pair in pairs))
    lines += ["", f"{'instance':<{width}}  {'score':>9}  passed"]
    passed = {True: "yes", False: "no", None: "–"}
    lines += [
        f"{pair.instance.id:<{width}}  {shown(one.value):>9}  {passed[one.passed]}"
        for pair, one in zip(pairs, scores, strict=True)
    ]
    return "\n".join(lines)


def shown(value: Any) -> str:
    """A value for people."""
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list):
        return ", ".join(shown(item) for item in value)
    return str(value)
