"""What a whole experiment costs: a workbench in a temporary home, with two workers, and a model server in a process of
its own that answers after a while. Wall time is from the start as a user asks for it to the end of the last run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from workbench.bench import shapes
from workbench.bench.home import own_home
from workbench.bench.processes import cpu_seconds, peak_mb
from workbench.engine.errors import InvalidDocument, WorkbenchError, has_errors

WORKERS = 2
LOOK_EVERY = 0.1
READY_WITHIN = 120.0
IDLE_CPU_S = 0.1
"""Less CPU within a second is heartbeats only."""
PROBLEM = "Name the colour of the sky in one word. " * 25
"""A kilobyte, as prompts are."""


class Load(NamedTuple):
    """How much is asked for."""

    runs: int
    calls: int
    latency: float
    concurrency: int

    @property
    def ideal(self) -> float:
        """Seconds if models' waiting were all."""
        return self.runs * self.calls * self.latency / self.concurrency


def experiment_figures(load: Load) -> dict[str, Any]:
    """Everything that `workbench bench experiment` prints. Raises `WorkbenchError` when it does not run to its end."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="workbench-bench-")))
        address = stack.enter_context(model_server(load.latency))
        stack.enter_context(
            own_home(
                home,
                OPENAI_COMPATIBLE_URL=address,
                WORKBENCH_RUNS_AT_ONCE=str(load.concurrency),
                WORKBENCH_RUN_PROCESSES=str(WORKERS),
                WORKBENCH_PROVIDER_LIMITS=f"openai_compatible={load.concurrency}",
                NO_PROXY="127.0.0.1",
            )
        )
        pids = {"broker": stack.enter_context(broker(home)), **stack.enter_context(workers(home))}
        return measured(load, {**pids, "start and watch": os.getpid()})


def measured(load: Load, pids: dict[str, int]) -> dict[str, Any]:
    """Start the experiment and wait for its end."""
    experiment = drafted(load)
    before = {name: cpu_seconds([pid]) for name, pid in pids.items()}
    wall, statuses = watched(experiment)
    used = {name: difference(cpu_seconds([pid]), before[name]) for name, pid in pids.items()}
    calls = load.runs * load.calls
    known = [seconds for seconds in used.values() if seconds is not None]
    return {
        "wall_s": round(wall, 3),
        "ideal_s": round(load.ideal, 3),
        "ratio": round(load.ideal / wall, 3),
        "cpu_ms_per_call": round(sum(known) / calls * 1e3, 2) if len(known) == len(used) else None,
        "peak_rss_mb": rounded(peak_mb(pids.values())),
        "ended": statuses,
        "cpu_s": {name: rounded(seconds) for name, seconds in used.items()},
        **load._asdict(),
    }


def drafted(load: Load) -> Any:
    """The experiment, ready to be started."""
    from workbench.catalog.probing import providers_probed
    from workbench.datasets.services import dataset_import
    from workbench.experiments.drafting import Draft
    from workbench.experiments.services import experiment_create
    from workbench.experiments.spec import ExperimentSpec
    from workbench.experiments.tickets import queue_check
    from workbench.topologies.services import topology_save

    document = shapes.agent_chain(load.calls, "openai_compatible/tiny:latest", "{{ instance.problem }} {{ inbox }}")
    topology_save("bench", json.dumps(document), "For the benchmark", "bench")
    lines = (json.dumps({"id": f"i{number}", "problem": PROBLEM, "reference": "blue"}) for number in range(load.runs))
    dataset_import("bench", "\n".join(lines).encode(), "bench.jsonl")
    made = experiment_create(
        ExperimentSpec.model_validate({"name": "bench", "dataset": "bench", "configurations": [{"topology": "bench"}]})
    )
    providers_probed(["openai_compatible"])  # a web server that is up has loaded what this needs, and Celery
    queue_check()
    if has_errors(problems := Draft(made).problems):
        raise InvalidDocument(problems)
    return made


def watched(experiment: Any) -> tuple[float, dict[str, int]]:
    """Start it; seconds until its end, and how its runs ended."""
    from django.db.models import Count

    from workbench.experiments.services import experiment_start

    began = time.time()
    experiment_start(experiment)
    while experiment.status != "finished":
        time.sleep(LOOK_EVERY)
        experiment.refresh_from_db(fields=["status", "ended_at"])
    rows = experiment.runs.values_list("status").annotate(Count("pk")).order_by()
    return experiment.ended_at.timestamp() - began, dict(rows)


@contextmanager
def model_server(latency: float) -> Iterator[str]:
    """The address of a server that answers after so long."""
    command = [sys.executable, "-m", "workbench.engine.providers._fake_models", "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip() + "/v1"
        finally:
            process.kill()


@contextmanager
def broker(home: Path) -> Iterator[int]:
    """The embedded broker; its process."""
    from django.conf import settings

    from workbench.supervisor.broker import Broker

    it = Broker(settings.BROKER_SOCKET, home / "broker")
    it.start()
    try:
        assert it.pid is not None  # the home is new: no other can be there
        yield it.pid
    finally:
        it.stop()


@contextmanager
def workers(home: Path) -> Iterator[dict[str, int]]:
    """Workers as `workbench up` starts them, warm; their processes."""
    from workbench.supervisor.children import Child

    logs = home / "logs"
    logs.mkdir(exist_ok=True)
    children = [Child(f"runs{number}", f"Worker {number}", logs) for number in range(1, WORKERS + 1)]
    try:
        for child in children:
            child.start({**os.environ, "WORKBENCH_SUPERVISOR": str(os.getpid())})
        wait_for_answers(children)
        pids = {child.name: child.pid for child in children if child.pid}
        wait_until_idle(pids.values())
        yield pids
    finally:
        for child in children:
            child.ask_to_end()
        for child in children:
            child.wait(time.monotonic() + 10)


def wait_for_answers(children: list[Any]) -> None:
    """Until all workers answer."""
    from workbench.celery import app

    deadline = time.monotonic() + READY_WITHIN
    while len(app.control.ping(timeout=0.5)) < len(children):
        gone = [child for child in children if child.has_ended()]
        if gone or time.monotonic() > deadline:
            words = "\n".join(child.last_words() for child in gone or children)
            raise WorkbenchError(f"The workers do not start. The end of their logs:\n{words}")


def wait_until_idle(pids: Collection[int]) -> None:
    """Until they have loaded what they load ahead."""
    deadline, before = time.monotonic() + READY_WITHIN, cpu_seconds(pids)
    while before is not None and time.monotonic() < deadline:
        time.sleep(1)
        after = cpu_seconds(pids)
        if after is None or after - before < IDLE_CPU_S:
            return
        before = after


def difference(after: float | None, before: float | None) -> float | None:
    """Unknown where either is."""
    return None if after is None or before is None else after - before


def rounded(value: float | None) -> float | None:
    """Enough digits."""
    return None if value is None else round(value, 2)
