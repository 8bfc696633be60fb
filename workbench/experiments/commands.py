"""`workbench run`: one run of a topology's file, with no queue, kept where the pages find it."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from workbench.engine.errors import InvalidDocument, WorkbenchError

EXIT_CODES = {"succeeded": 0, "invalid": 1, "failed": 2}
OTHER = 3


@click.command()
@click.argument("file")
@click.option("--input", "text", metavar="TEXT", help="The problem to solve.")
@click.option("--instance", "reference", metavar="DATASET/ID", help="An instance: fix-mini/f03 or fix-mini@1/f03.")
@click.option("--model", metavar="PROVIDER/NAME", help="Ask this model instead of those that the topology names.")
@click.option("--scripted", metavar="FILE", help="Take every answer from this script instead of a model.")
@click.option("--answers", metavar="FILE", help='What people answer, as JSON: {"NODE": "yes"}, or a list for each.')
@click.option("--diff", "as_diff", is_flag=True, help="Print what changed in the run's files instead of the answer.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else.")
def run(
    file: str,
    text: str | None,
    reference: str | None,
    model: str | None,
    scripted: str | None,
    answers: str | None,
    as_diff: bool,
    as_json: bool,
) -> None:
    """Run the topology in FILE (- reads standard input) once. What it asks people, it asks at the terminal; where there
    is none, the run waits, and the page Questions has its questions.

    Exit code 0: succeeded; 1: the topology or the script is not valid; 2: failed; 3: stopped, a limit, no answer, or it
    waits for a person.
    """
    from workbench.experiments.single import EARLY, Request, run_file

    try:
        report = run_file(Request(file, text, reference, model, scripted, answers))
    except InvalidDocument as error:
        report = {"status": "invalid", "problems": [problem._asdict() for problem in error.problems]}
    except KeyboardInterrupt:
        report = {**blank(), "status": "stopped", "reason": EARLY}
    except WorkbenchError as error:
        if not as_json:
            raise
        report = {**blank(), "status": "failed", "reason": str(error)}
    told = json.dumps(report, indent=2) if as_json else readable(report, as_diff)
    click.echo(told, err=not as_json and "problems" in report)
    sys.exit(EXIT_CODES.get(report["status"], OTHER))


def blank() -> dict[str, Any]:
    """The report of a run that there was none of."""
    return {
        "status": "", "reason": "", "output": None, "outputs": {}, "visits": {}, "order": [], "node_outputs": {},
        "usage": None, "run_id": None, "workspace": None, "diff": "",
    }  # fmt: skip


def readable(report: dict[str, Any], as_diff: bool = False) -> str:
    """The report for people: what is wrong, or the answer (or the diff) and a line about how it came."""
    if "problems" in report:
        lines = [f"{it['severity']}: {it['path']} {it['message']} {it['hint']}".rstrip() for it in report["problems"]]
        return "\n".join(lines)
    for note in report.get("notes", ()):
        click.echo(f"note: {note}", err=True)
    usage = report["usage"] or {}
    tokens: list[Any] = [usage.get("input_tokens"), usage.get("output_tokens")]
    counted = "tokens unknown" if None in tokens else f"{sum(tokens):,} tokens"
    told = f"run {report['run_id'] or ''}: {report['status']}, {usage.get('model_calls', 0)} model calls, {counted}"
    click.echo(f"{told}. {report['reason']}".rstrip(), err=True)
    if report.get("workspace"):
        changed = report["diff"].count("\ndiff --git ") + report["diff"].startswith("diff --git ")
        click.echo(f"files: {changed:,} changed, in {report['workspace']} (--diff prints what changed)", err=True)
    for asked in report.get("questions", ()):
        choices = f" ({', '.join(asked['choices'])})" if asked["choices"] else ""
        click.echo(f"{asked['node']} asks: {shown(asked['question'])}{choices}", err=True)
    answer = report["diff"] if as_diff else report["output"]
    return shown(answer) if answer is not None else ""


def shown(text: str) -> str:
    """A model's text for a terminal, which must not obey its control codes; a file gets it as it is."""
    from workbench.experiments.text import storable, visible

    return visible(text) if sys.stdout.isatty() else storable(text)
