"""`workbench doctor`: what this machine has and lacks, each with what to do."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import click

from workbench.catalog.modelfacts import ProviderFacts, model_line, provider_facts
from workbench.catalog.probing import providers_probed
from workbench.engine.errors import SandboxError
from workbench.engine.sandboxes import choose_sandbox
from workbench.home import home_path, unwritable

LEAST_FREE_MB = 200
SHOWN_MODELS = 8
MARKS = {"ok": "✓", "note": "–", "error": "✗"}


class Finding(NamedTuple):
    """One thing looked at. A `note` is worth knowing, and stops nothing."""

    name: str
    status: Literal["ok", "note", "error"]
    message: str
    models: tuple[str, ...] = ()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """Look at home, disk, database, broker, workers and model providers, and say what to do."""
    findings = list(findings_of(home_path()))
    if as_json:
        click.echo(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(f"{MARKS[finding.status]} {finding.name}: {finding.message}")
            for model in finding.models[:SHOWN_MODELS]:
                click.echo(f"    {model}")
            if len(finding.models) > SHOWN_MODELS:
                click.echo(f"    and {len(finding.models) - SHOWN_MODELS} more")
    sys.exit(1 if any(finding.status == "error" for finding in findings) else 0)


def findings_of(home: Path) -> Iterator[Finding]:
    """Everything, in the order in which one thing needs another."""
    usable = home_finding(home)
    yield usable
    if usable.status == "error":
        return
    yield disk_finding(home)
    import django

    django.setup()
    for look in LOOKS:
        yield look()
    yield from provider_findings()
    yield from further_findings()


def home_finding(home: Path) -> Finding:
    """Whether the home can be written to."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=home, prefix=".try-"):
            return Finding("home", "ok", str(home))
    except FileExistsError:
        return Finding("home", "error", f"The home {home} is a file. Choose another WORKBENCH_HOME.")
    except OSError as error:
        return Finding("home", "error", unwritable(home, error))


def disk_finding(home: Path) -> Finding:
    """Whether there is room."""
    free = shutil.disk_usage(home).free // (1024 * 1024)
    if free < LEAST_FREE_MB:
        return Finding("disk", "error", f"Only {free:,} MB are free where the home is. Free some space.")
    return Finding("disk", "ok", f"{free:,} MB free")


def database_finding() -> Finding:
    """Whether the database answers and is up to date."""
    from django.db import DatabaseError, connection
    from django.db.migrations.executor import MigrationExecutor

    kind = "PostgreSQL" if connection.vendor == "postgresql" else "SQLite"
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        said = str(error).strip().partition("\n")[0]
        cure = "Move the file away, or restore a copy" if kind == "SQLite" else "Start it, or correct DATABASE_URL"
        return Finding("database", "error", f"{kind} does not answer: {said}. {cure}.")
    if pending:
        return Finding("database", "note", f"{kind} waits for {len(pending)} changes; `workbench up` makes them.")
    return Finding("database", "ok", f"{kind} answers and is up to date")


def broker_finding() -> Finding:
    """Whether the queue answers."""
    from django.conf import settings

    from workbench.celery import app

    kind = "Redis" if settings.REDIS_URL else "The embedded broker"
    try:
        with app.connection_for_read(transport_options={"socket_connect_timeout": 2}) as connection:
            connection.ensure_connection(max_retries=1, timeout=2, interval_start=0)
            connection.default_channel.client.ping()
    except Exception as error:  # the transport raises what its client raises
        if settings.REDIS_URL:
            return Finding("broker", "error", f"Redis does not answer ({error}). Start it, or correct REDIS_URL.")
        return Finding("broker", "note", "The embedded broker is not running. Start it with `workbench up`.")
    return Finding("broker", "ok", f"{kind} answers")


def workers_finding() -> Finding:
    """Which workers answer."""
    from workbench.celery import app

    try:
        names = sorted(name for answer in app.control.ping(timeout=1.0) for name in answer)
    except Exception:  # no broker, no workers: the broker's own line says why
        names = []
    if not names:
        return Finding("workers", "note", "No worker answers, so nothing would run. Start them with `workbench up`.")
    return Finding("workers", "ok", f"{len(names)} answer: {', '.join(names)}")


def sandbox_finding() -> Finding:
    """Where code of topologies would run."""
    try:
        name, sandbox = choose_sandbox(os.environ)
    except SandboxError as error:
        return Finding("sandbox", "note", f"{error} Until then topologies can't run code.")
    if not sandbox.isolates:
        text = "Code of topologies runs unprotected, with this machine's files and network. Install bubblewrap for it."
        return Finding("sandbox", "note", text)
    return Finding("sandbox", "ok", f"Code of topologies runs in {name}")


LOOKS: tuple[Callable[[], Finding], ...] = (database_finding, broker_finding, workers_finding, sandbox_finding)


def provider_findings() -> list[Finding]:
    """Every provider, asked at once; one that is away is no fault."""
    return [provider_finding(provider_facts(probed)) for probed in providers_probed().values()]


def provider_finding(facts: ProviderFacts) -> Finding:
    """Whether one provider answers, and with which models."""
    said = facts.probed.result.message
    models = tuple(model_line(model, known=said) for model in facts.models)
    return Finding(f"provider {facts.name}", "ok" if facts.ok else "note", said, models)


def further_findings() -> Iterator[Finding]:
    """What other apps have looked at: each may have a `doctor` in its configuration, which gives rows of a `Finding`."""
    from django.apps import apps

    for app in apps.get_app_configs():
        for row in getattr(app, "doctor", tuple)():
            yield Finding(*row)
