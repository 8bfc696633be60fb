"""The command `workbench up`, from the first check to the last goodbye."""

from __future__ import annotations

import os
import signal
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

import click

from workbench.home import home_path, setting_up
from workbench.supervisor import checks
from workbench.supervisor.broker import Broker
from workbench.supervisor.checks import CannotStart
from workbench.supervisor.children import Child
from workbench.supervisor.lock import HomeLock

STOP_WITHIN = 10.0
FIRST_ANSWER_WITHIN = 90.0
BROKER_LOOK_EVERY = 2.0


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535), help="The port to listen on.")
def up(host: str, port: int) -> None:
    """Start everything: broker, workers and web server. Ctrl-C stops it all."""
    Supervisor(home_path(), host, port).run()


class Supervisor:
    """Owns the home while it lives, and everything that runs on it."""

    def __init__(self, home: Path, host: str, port: int) -> None:
        self._home, self._host, self._port = home, host, port
        self._lock = HomeLock(home)
        self._broker: Broker | None = None
        self._children: list[Child] = []
        self._stop = threading.Event()
        self._signals = 0

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the pages."""
        name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._host, self._host)
        return f"http://{f'[{name}]' if ':' in name and not name.startswith('[') else name}:{self._port}"

    def run(self) -> None:
        """Check, start, say where, look after everything, stop."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._asked_to_stop)
        checks.home_check(self._home)
        stale = self._lock.take()
        try:
            if stale is not None:
                say(f"The last start (pid {stale}) ended without tidying up; this one carries on from there.")
            with checks.listener(self._host, self._port) as listener:
                self._lock.write(address=self.address, children={})
                self._prepare()
                self._start(listener.fileno())
                self._look_after()
        finally:
            self._end()

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        self._stop.set()

    def _prepare(self) -> None:
        """Broker and database, ready to be used."""
        import django
        from django.conf import settings
        from django.core.management import call_command
        from django.db import connections

        if settings.REDIS_URL:
            checks.redis_check(settings.REDIS_URL)
        else:
            self._broker = Broker(settings.BROKER_SOCKET, self._home / "broker")
            if self._broker.start():
                say("The broker of the last start still answers; it is used again, with its queue.")
        django.setup()
        checks.settings_check()
        checks.database_check()
        from workbench.starters import starters_load

        with setting_up(self._home):
            call_command("migrate", verbosity=0, interactive=False)
            starters_load()
        connections.close_all()

    def _start(self, fd: int) -> None:
        """The web server first: the first page is what people wait for. Then those that can take their time."""
        from django.conf import settings

        logs, environ = self._home / "logs", self._environ()
        web = Child("web", "The web server", logs, arguments=[str(fd)], fds=[fd])
        self._children = [web]
        web.start(environ)
        self._wait_for_page(web)
        workers = [f"runs{number}" for number in range(1, settings.RUN_PROCESSES + 1)]
        self._children += [Child(name, f"The worker {name}", logs) for name in workers]
        self._children += [Child("evaluations", "The evaluation worker", logs), Child("beat", "The beat", logs)]
        for child in self._children[1:]:
            if not self._stop.is_set():
                child.start(environ)
        self._remember()
        if not self._stop.is_set():
            click.echo(f"The workbench is at {self.address} (logs in {logs}; Ctrl-C stops it).")

    def _environ(self) -> dict[str, str]:
        """What children get: the home that was checked, and the host as one that may be asked for."""
        hosts = os.environ.get("WORKBENCH_HOSTS", "localhost,127.0.0.1,[::1]").split(",")
        name = f"[{self._host}]" if ":" in self._host else self._host
        if self._host not in ("0.0.0.0", "::") and name not in hosts:
            hosts.append(name)
        return {
            **os.environ,
            "WORKBENCH_HOME": str(self._home),
            "WORKBENCH_HOSTS": ",".join(hosts),
            "WORKBENCH_SUPERVISOR": str(os.getpid()),
            "PYTHONUNBUFFERED": "1",
        }

    def _wait_for_page(self, web: Child) -> None:
        deadline = time.monotonic() + FIRST_ANSWER_WITHIN
        while not self._stop.is_set() and not answers(self.address):
            if web.look(self._environ()) or time.monotonic() > deadline:
                raise CannotStart(f"The web server does not start. The end of its log, {web.log}:\n{web.last_words()}")
            self._stop.wait(0.05)

    def _look_after(self) -> None:
        """Until somebody says stop."""
        environ, next_look = self._environ(), 0.0
        while not self._stop.wait(0.25):
            if news := [sentence for child in self._children if (sentence := child.look(environ))]:
                say("\n".join(news))
            if time.monotonic() >= next_look:
                self._look_at_broker()
                self._remember()
                next_look = time.monotonic() + BROKER_LOOK_EVERY

    def _look_at_broker(self) -> None:
        if self._broker is None or self._broker.answers() or self._broker.answers():
            return
        say(f"The broker ended; starting it again. Its log is {self._broker.log}.")
        try:
            self._broker.revive()
        except CannotStart as error:
            say(str(error))

    def _remember(self) -> None:
        """For the next start and for `workbench doctor`. A full disk is no reason to stop what runs."""
        children = {child.name: child.pid for child in self._children if child.pid}
        try:
            self._lock.write(address=self.address, children=children)
        except OSError as error:
            say(f"up.json can’t be written ({error.strerror}). Free some space.")

    def _end(self) -> None:
        """All are asked at once; what is left when patience ends, or at a second Ctrl-C, is killed. The broker last."""
        for child in self._children:
            child.ask_to_end()
        deadline, asked = time.monotonic() + STOP_WITHIN, self._signals
        waiting = [child for child in self._children if child.pid]
        while waiting and time.monotonic() < deadline and self._signals == asked:
            waiting = [child for child in waiting if not child.has_ended()]
            time.sleep(0.05)
        for child in self._children:
            child.wait(time.monotonic())
        if self._children:
            self._end_model()
        if self._broker is not None:
            self._broker.stop()
        self._lock.release()

    def _end_model(self) -> None:
        """The embedded model's server belongs to the home, not to the worker that started it: it ends here."""
        from workbench.engine.providers.embedded import embedded_stop

        embedded_stop({"WORKBENCH_HOME": str(self._home)})


def answers(address: str) -> bool:
    """Whether the first page really comes."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/", timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def say(sentence: str) -> None:
    """To whoever watches the terminal; standard output keeps to the one line with the address."""
    click.echo(sentence, err=True)
