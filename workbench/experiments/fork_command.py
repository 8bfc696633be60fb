"""`workbench fork`: a run that leaves another at one of its visits, executed here; or those of an experiment, queued."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from workbench.engine.errors import InvalidDocument, WorkbenchError

if TYPE_CHECKING:
    from workbench.experiments.forking import ForkLook, Wish
    from workbench.experiments.models import Run
    from workbench.experiments.replaying import NewPlan


class Given(NamedTuple):
    """What was typed."""

    node: str
    visit: int
    settings: dict[str, Any]
    answer: str | None
    topology: str | None
    scripted: str | None


@click.command()
@click.argument("number", metavar="RUN", type=click.IntRange(min=1))
@click.option("--at", "node", required=True, metavar="NODE", help="The node to leave at; outer.1:inner inside another.")
@click.option("--visit", type=click.IntRange(min=1), default=1, show_default=True, help="Which of its visits.")
@click.option("--prompt", metavar="TEXT", help="Another prompt for the node; @FILE reads it.")
@click.option("--system", metavar="TEXT", help="Another role for the node; @FILE reads it.")
@click.option("--model", metavar="PROVIDER/NAME", help="Another model for the node.")
@click.option("--params", metavar="JSON", help='Other parameters: {"temperature": 0.7}; null takes one away.')
@click.option("--answer", metavar="TEXT", help="The answer of this visit, instead of making it again; @FILE reads it.")
@click.option("--topology", metavar="FILE|NAME[@COMMIT]", help="Go on by this topology.")
@click.option("--experiment", "many", is_flag=True, help="RUN is an experiment: fork all of its runs, on the workers.")
@click.option("--scripted", metavar="FILE", help="Take every answer from this script instead of a model.")
@click.option("--dry-run", "dry", is_flag=True, help="Only say what would be made again.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else.")
def fork(
    number: int,
    node: str,
    visit: int,
    prompt: str | None,
    system: str | None,
    model: str | None,
    params: str | None,
    answer: str | None,
    topology: str | None,
    many: bool,
    scripted: str | None,
    dry: bool,
    as_json: bool,
) -> None:
    """Run RUN again from one of its visits on, with a change. What does not wait for that visit is taken from its journal.

    Exit codes are those of `workbench run`.
    """
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    texts = {"prompt": text_of(prompt), "system": text_of(system), "model": model, "params": params_of(params)}
    settings = {name: value for name, value in texts.items() if value is not None}
    given = Given(node, visit, settings, text_of(answer), topology, scripted)
    try:
        report = many_report(number, given, dry) if many else fork_report(number, given, dry)
    except InvalidDocument as error:
        report = {"status": "invalid", "problems": [problem._asdict() for problem in error.problems]}
    click.echo(json.dumps(report, indent=2) if as_json else readable(report), err=not as_json and "problems" in report)
    sys.exit(exit_code(report))


def text_of(given: str | None) -> str | None:
    """What was typed, or stands in the file that was named."""
    if given is None or not given.startswith("@"):
        return given
    from workbench.topologies.commands import document_bytes

    return document_bytes(given[1:]).decode("utf-8", "replace")


def params_of(given: str | None) -> Any:
    """The parameters as JSON. Raises `WorkbenchError`."""
    if given is None:
        return None
    try:
        return json.loads(given)
    except ValueError as error:
        raise WorkbenchError(f'--params is no JSON ({error}). Write an object: {{"temperature": 0.7}}.') from error


def wish_of(given: Given) -> Wish:
    from workbench.engine.forking import Change
    from workbench.engine.recorded import Place
    from workbench.experiments.forking import Wish

    change = Change(settings=given.settings, answer=given.answer)
    return Wish(Place.read(given.node, given.visit), change, given.topology or "")


def fork_report(number: int, given: Given, dry: bool) -> dict[str, Any]:
    """What comes of forking one run, here and now. Raises `InvalidDocument`, `WorkbenchError`."""
    from workbench.experiments.forking import fork_look
    from workbench.experiments.replay_command import run_named

    parent, wish = run_named(number), wish_of(given)
    look = fork_look(parent, wish, file_plan(parent, wish))
    before = {"parent": parent.pk, "again": spent(look.again), "taken": spent(look.taken)}
    return before | {"status": "dry_run"} if dry else execute(look, given) | before


def file_plan(parent: Run, wish: Wish) -> NewPlan | None:
    """The plan of a topology in a file; None where it has to be looked up in the workbench."""
    from workbench.engine.forking import changed_plan
    from workbench.experiments.replay_command import new_plan

    if not wish.topology or not (wish.topology == "-" or os.path.exists(wish.topology)):
        return None
    new = new_plan(parent, wish.topology)
    return new._replace(plan=changed_plan(new.plan, wish.place, wish.change))


def execute(look: ForkLook, given: Given) -> dict[str, Any]:
    """Run the fork in this process, like `workbench run`."""
    from django.utils import timezone

    from workbench.engine.providers import Providers
    from workbench.engine.providers.scripted import Script, ScriptedProvider
    from workbench.experiments.execution import run_prepare  # loads LangGraph: before the run's clock starts
    from workbench.experiments.forking import fork_row, new_plan_store
    from workbench.experiments.lifecycle import owner_name
    from workbench.experiments.single import report, run_here
    from workbench.experiments.throttle import throttle_alone
    from workbench.topologies.commands import document_bytes

    only = ScriptedProvider(Script.from_text(document_bytes(given.scripted))) if given.scripted else None
    now = timezone.now()
    run = fork_row(
        look.parent,
        look.wish,
        plan=new_plan_store(look.new),
        status="running",
        attempt=1,
        owner=owner_name(),
        heartbeat_at=now,
        started_at=now,
    )
    run.scripted = only is not None
    run.save()
    providers = Providers(os.environ, only=only, throttle=throttle_alone())
    found = report(run.pk, asyncio.run(run_here(run, run_prepare, providers)))
    run.refresh_from_db()
    return found | {"usage": own_usage(run)}  # the engine counts what was taken too: limits do not begin anew


def own_usage(run: Run) -> dict[str, Any]:
    """What the fork has spent itself."""
    names = ("model_calls", "tool_calls", "input_tokens", "output_tokens", "unknown_usage_calls", "unpriced_calls")
    cost = run.cost_usd if run.model_calls else 0
    found = {name: getattr(run, name) for name in names}
    return found | {"cost_usd": None if cost is None else float(cost), "model_seconds": run.model_seconds}


def many_report(number: int, given: Given, dry: bool) -> dict[str, Any]:
    """What comes of forking an experiment; its runs are left to the workers."""
    from workbench.experiments.forking_many import experiment_fork, experiment_fork_look
    from workbench.experiments.models import Experiment

    experiment = Experiment.objects.filter(pk=number).first()
    if experiment is None:
        raise WorkbenchError(f"There is no experiment {number}. The page Experiments lists them.")
    if given.scripted:
        raise WorkbenchError("Forks of an experiment run on the workers, which know no --scripted.")
    wish = wish_of(given)
    look = experiment_fork_look(experiment, wish)
    report = {"parent": number, "runs": look.runs, "looked_at": look.looked, "again": spent(look.again)}
    if dry:
        return report | {"status": "dry_run"}
    return report | {"status": "started", "experiment_id": experiment_fork(experiment, wish, author="command line").pk}


def spent(found: Any) -> dict[str, Any]:
    """Calls, and what they took when they were made first; null is unknown."""
    from workbench.experiments.forking import money

    cost = money(found)
    return {
        "model_calls": found.model_calls,
        "tool_calls": found.tool_calls,
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "cost_usd": None if cost is None else float(cost),
    }


def exit_code(report: dict[str, Any]) -> int:
    """What the shell is told."""
    from workbench.experiments.commands import EXIT_CODES, OTHER

    return 0 if report["status"] in ("dry_run", "started") else EXIT_CODES.get(report["status"], OTHER)


def readable(report: dict[str, Any]) -> str:
    """The report for people."""
    from workbench.experiments.commands import readable as readable_run

    if "problems" in report:
        return readable_run(report)
    again = report["again"]
    calls = f"{again['model_calls']:,} model calls and {again['tool_calls']:,} tool calls"
    if report["status"] == "dry_run":
        runs = f" in {report['looked_at']:,} of {report['runs']:,} runs" if "runs" in report else ""
        return f"{calls} would be made again{runs}, if it goes the same way."
    if report["status"] == "started":
        return f"experiment {report['experiment_id']}: {report['runs']:,} forks have begun."
    click.echo(f"fork of run {report['parent']}: {calls} were due again.", err=True)
    return readable_run(report)
