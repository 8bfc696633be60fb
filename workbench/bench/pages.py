"""What pages cost: server time and SQL queries of every list, run and results page over a full database."""

from __future__ import annotations

import time
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from workbench.bench.home import own_home


class Fill(NamedTuple):
    """How full the database is."""

    experiments: int
    runs: int
    datasets: int = 10


def pages_figures(fill: Fill, repeat: int) -> dict[str, Any]:
    """Everything that `workbench bench pages` prints: for each page milliseconds (median, and the slowest) and queries."""
    with TemporaryDirectory(prefix="workbench-bench-") as folder:
        from pathlib import Path

        home = Path(folder)
        with own_home(home, OLLAMA_URL="http://127.0.0.1:9"):
            from workbench.bench.seed import seed

            seeded = seed(fill)
            figures = {name: page(address, repeat, htmx=name.endswith("_part")) for name, address in seeded.pages()}
    slowest = max(figures, key=lambda name: figures[name]["ms"])
    return {**fill._asdict(), "pages": figures, "slowest": {"page": slowest, "ms": figures[slowest]["ms"]}}


def page(address: str, repeat: int, *, htmx: bool = False) -> dict[str, Any]:
    """One page, asked once to load what it needs, then for its queries, then some times more."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "localhost", **({"HX-Request": "true"} if htmx else {})})
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address)
    queries = len(captured)
    if response.status_code not in (200, 204):
        raise RuntimeError(f"{address} answered {response.status_code}.")
    if not repeat:
        return {"queries": queries}
    took = []
    for _ in range(repeat):
        began = time.perf_counter()
        client.get(address)
        took.append((time.perf_counter() - began) * 1e3)
    return {"ms": round(median(took), 1), "most_ms": round(max(took), 1), "queries": queries}
