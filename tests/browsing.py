"""Fixtures for tests that open pages in Chromium: a real uvicorn over the test database, and what every page owes."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
SCREENSHOTS = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
SMALL = {"width": 360, "height": 740}
LARGE = {"width": 1280, "height": 800}


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The machine's own Chromium: nothing is downloaded."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("There is no Chromium here. Install it, or name one in CHROMIUM.")
    return {**browser_type_launch_args, "executable_path": path, "args": ARGS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """No motion: a colour half way between two themes is nobody's contrast."""
    return {**browser_context_args, "reduced_motion": "reduce", "viewport": LARGE}


@pytest.fixture(scope="session")
def unsafe_allowed() -> None:
    """Playwright's loop runs in the thread of the tests, where Django would refuse to ask the database."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


@pytest.fixture(scope="session")
def uvicorn_address(unsafe_allowed: None, django_db_setup: None) -> Iterator[str]:
    """One web server for the session, in a thread: it sees the test database as any process would."""
    import uvicorn

    from workbench.asgi import application

    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
    listener.close()


@pytest.fixture
def live(uvicorn_address: str, transactional_db: None) -> str:
    """The server's address. What the test writes into the database, the server sees."""
    return uvicorn_address


@pytest.fixture
def page(page: Any) -> Iterator[Any]:
    """Playwright's page; the test fails if a script broke or the content policy refused something."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda entry: wrong.append(entry.text) if "Content Security Policy" in entry.text else None)
    yield page
    assert not wrong, wrong


@pytest.fixture
def axe() -> Callable[[Any], None]:
    """`axe(page)`: the page as it stands has no accessibility problem that a machine can find."""
    from axe_playwright_python.sync_playwright import Axe

    def check(page: Any) -> None:
        results = Axe().run(page)
        assert results.violations_count == 0, f"{page.url}\n{results.generate_report()}"

    return check


@pytest.fixture
def well_made(axe: Callable[[Any], None]) -> Callable[[Any], None]:
    """`well_made(page)`: clean for axe in light and dark, wide and at 360 px, and nothing makes it scroll sideways."""

    def check(page: Any) -> None:
        for size in (LARGE, SMALL):
            page.set_viewport_size(size)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                axe(page)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= size["width"], f"{page.url} is {wide} px wide at {size['width']} px"
        page.set_viewport_size(LARGE)
        page.emulate_media(color_scheme="light")

    return check


@pytest.fixture
def screenshot() -> Callable[[Any, str], None]:
    """`screenshot(page, "name")` writes docs/screenshots/name.png where WORKBENCH_SCREENSHOTS=1; else nothing."""

    def take(page: Any, name: str) -> None:
        if os.environ.get("WORKBENCH_SCREENSHOTS") == "1":
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled")

    return take
