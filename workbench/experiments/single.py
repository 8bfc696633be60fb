"""One run from the command line: the home made ready, the file planned, the run executed here and kept like any other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.engine.errors import InvalidDocument, WorkbenchError
from workbench.home import setting_up

if TYPE_CHECKING:
    from workbench.engine.formats import Imported


EARLY = "Stopped before it began."


class Request(NamedTuple):
    """What was typed."""

    file: str
    text: str | None
    reference: str | None
    model: str | None
    scripted: str | None
    answers: str | None = None


def run_file(request: Request) -> dict[str, Any]:
    """The report of the run. Raises `InvalidDocument` for topology and script, `WorkbenchError` for the rest."""
    from workbench.topologies.commands import document_bytes

    if (request.text is None) == (request.reference is None):
        raise WorkbenchError("Say what is to be solved: either --input TEXT or --instance DATASET/ID.")
    document = document_bytes(request.file)
    script = None if request.scripted is None else document_bytes(request.scripted)
    people = None if request.answers is None else document_bytes(request.answers)
    with database_sentences():
        home_ready()
        return execute(request, document, script, people)


@contextlib.contextmanager
def database_sentences() -> Iterator[None]:
    """A database that can't be used is a sentence, not a traceback."""
    from django.db import DatabaseError

    try:
        yield
    except (DatabaseError, PermissionError) as error:
        from django.conf import settings

        raise WorkbenchError(
            f"The workbench's database can't be used ({error}). Make {settings.WORKBENCH_HOME} writable, or set "
            "WORKBENCH_HOME to another folder."
        ) from error


def home_ready() -> None:
    """Tables and agents, where they are not there yet."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    from django.conf import settings

    with setting_up(settings.WORKBENCH_HOME):
        _tables_and_starters()


def _tables_and_starters() -> None:
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)
    from workbench.catalog.models import Agent
    from workbench.catalog.services import starters_load
    from workbench.datasets.models import Dataset

    if not Agent.objects.exists():
        starters_load()
    if not Dataset.objects.exists():
        from workbench.datasets.services import starters_load as datasets_load

        datasets_load()
    if not settings.TOPOLOGY_REPOSITORY.exists():
        from workbench.topologies.services import starters_load as topologies_load

        topologies_load()


def execute(request: Request, document: bytes, script: bytes | None, people: bytes | None) -> dict[str, Any]:
    """Plan, run, report. While the run waits for people, whoever sits here answers, or a file does."""
    from workbench.engine.providers import Providers
    from workbench.engine.providers.scripted import Script, ScriptedProvider
    from workbench.topologies.importing import original_report, own_script

    answers = None if script is None else Script.from_text(script)
    plan, imported = file_plan(request, document)
    only = None
    if answers is not None:
        answers = own_script(answers, imported.foreign_ids)
        if strangers := answers.strangers(plan.names()):
            raise InvalidDocument(strangers)
        only = ScriptedProvider(answers)
    from workbench.experiments.execution import run_prepare  # loads LangGraph: before the run's clock starts
    from workbench.experiments.lifecycle import run_end
    from workbench.experiments.questions_here import Here
    from workbench.experiments.throttle import throttle_alone

    here = Here.read(people, imported.foreign_ids)
    run = run_make(plan, request)
    while True:
        providers = Providers(os.environ, only=only, throttle=throttle_alone())
        try:
            outcome = asyncio.run(run_here(run, run_prepare, providers))
        except KeyboardInterrupt:  # it came before the loop listened for it
            run_end(run, status=run.Status.STOPPED, reason=EARLY)
            raise
        again = here.answered(run) if outcome.status in (run.Status.WAITING, run.Status.QUEUED) else None
        if again is None:
            return original_report(report(run.pk, here.outcome(run, outcome)) | here.left(run), imported)
        run = again


def file_plan(request: Request, document: bytes) -> tuple[Any, Imported]:
    """The plan of the topology in a file of any format that is known. Raises `InvalidDocument`."""
    from workbench.engine.planning import plan_topology, shared_windows
    from workbench.topologies.importing import document_checked, original_error
    from workbench.topologies.library import Library

    catalogue, model = Library(), request.model
    checked, imported = document_checked(request.file, document, catalogue)
    spec = checked.spec
    if spec is None:
        raise InvalidDocument(checked.problems)
    if request.scripted is not None and model is None and spec.defaults.model is None:
        # A script answers for every model: a topology that names none needs none.
        spec = spec.model_copy(update={"defaults": spec.defaults.model_copy(update={"model": "scripted/script"})})
    try:
        plan = plan_topology(spec, catalogue, overrides={} if model is None else {"model": model})
        return plan.with_windows(shared_windows([plan])), imported
    except InvalidDocument as error:
        raise original_error(error, imported) from error


def run_make(plan: Any, request: Request) -> Any:
    """The row of the run, claimed by this process from its start."""
    from django.utils import timezone

    from workbench.experiments.lifecycle import owner_name
    from workbench.experiments.models import Run
    from workbench.experiments.starting import plan_store
    from workbench.experiments.text import storable

    now = timezone.now()
    return Run.objects.create(
        plan=plan_store(plan),
        instance=None if request.reference is None else instance_named(request.reference),
        input=storable(request.text or ""),
        scripted=request.scripted is not None,
        status=Run.Status.RUNNING,
        attempt=1,
        owner=owner_name(),
        heartbeat_at=now,
        started_at=now,
    )


def instance_named(reference: str) -> Any:
    """The instance that `dataset/id` or `dataset@version/id` names."""
    from workbench.datasets.selectors import instance_of_version
    from workbench.datasets.services import dataset_version

    name, slash, key = reference.partition("/")
    if not slash:
        raise WorkbenchError(f"--instance {reference!r} must be written DATASET/ID.")
    return instance_of_version(dataset_version(name), key)


async def run_here(run: Any, prepare: Callable[[Any], Any], providers: Any) -> Any:
    """Execute it in this process; Ctrl-C and the page's Stop end it as `stopped`."""
    from workbench.experiments.execution import run_execute
    from workbench.experiments.questions_desk import desk_make
    from workbench.experiments.writer import Writer

    writer, stop = Writer(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # not on Windows
            loop.add_signal_handler(number, stop.set)
    beats = None
    try:
        prepared = await writer.call(lambda: prepare(run))
        desk = desk_make(run, writer, prepared.answers)
        beats = asyncio.ensure_future(keep_alive(run, writer, stop, desk))
        return await run_execute(prepared, providers=providers, writer=writer, stop=stop, desk=desk)
    finally:
        if beats is not None:
            beats.cancel()
        await providers.close()
        writer.close()


async def keep_alive(run: Any, writer: Any, stop: asyncio.Event, desk: Any) -> None:
    """A heartbeat a second, by which it is heard that the run is to stop, and what people have answered."""
    from workbench.experiments.lifecycle import runs_beat
    from workbench.experiments.questions import questions_expire
    from workbench.experiments.questions_desk import desks_serve

    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(1)
        if await writer.call(lambda: runs_beat(run.owner, [run.pk])):
            stop.set()
        await writer.call(questions_expire)
        await writer.call(lambda: desks_serve({run.pk: desk}, loop))


def report(run_id: int, outcome: Any) -> dict[str, Any]:
    """What `--json` prints."""
    result = outcome.result
    found: dict[str, Any] = {
        "status": outcome.status,
        "reason": outcome.reason,
        "output": None, "outputs": {}, "visits": {}, "order": [], "node_outputs": {}, "usage": None, "run_id": run_id,
        "workspace": None, "diff": "",
    }  # fmt: skip
    if result is not None:
        names = ("output", "outputs", "visits", "order", "node_outputs")
        found |= {name: getattr(result, name) for name in names}
        found["usage"] = plain(result.usage._asdict())
        found |= {"workspace": workspace_named(run_id) if result.commit else None, "diff": result.diff}
    return found


def workspace_named(run_id: int) -> str:
    """Where the files of the run lie."""
    from django.conf import settings

    return str(settings.WORKSPACES / str(run_id))


def plain(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Money as a number that JSON has. A run that asked no model cost nothing, and that is known."""
    cost = usage["cost_usd"] if usage["model_calls"] else 0
    return {**usage, "cost_usd": None if cost is None else float(cost)}
