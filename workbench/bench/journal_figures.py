"""What the journal costs: CPU for each event that is committed to SQLite, and the bytes that it takes there.

*Calls* are events of a kilobyte, appended one by one, each waited for as a run does; *texts* share a text of 100 KB;
*conversation* is one agent that goes on and on, each of whose calls carries all that was said before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workbench.bench.engine import rounded
from workbench.bench.home import own_home
from workbench.engine.events import ModelCalled

TEXT = "All work and no play makes a model a dull model. " * 2000


def journal_figures(events: Sequence[int]) -> dict[str, Any]:
    """Everything that `workbench bench journal` prints. CPU is of this process with all of its threads."""
    with TemporaryDirectory(prefix="workbench-bench-") as folder, own_home(Path(folder)):
        journalled(calls(100))  # what is loaded when first used counts for nobody
        return {
            "calls": {str(number): journalled(calls(number)) for number in events},
            "texts": {str(number): journalled(texts(number)) for number in (100, 200)},
            "conversation": {str(number): journalled(conversation(number)) for number in (100, 200)},
        }


def called(number: int, **fields: Any) -> ModelCalled:
    """A model call as it is written down."""
    made = {"at": 0.0, "node": "agent", "visit": 1, "call": number, "model": "bench/model", "input_tokens": 100}
    return ModelCalled(**{**made, "output_tokens": 20, "seconds": 1.0, **fields})


def calls(number: int) -> Iterator[ModelCalled]:
    """Short calls, each with words of its own."""
    for call in range(1, number + 1):
        said = [{"role": "user", "content": f"Question {call}: " + "why " * 50}]
        yield called(call, messages=said, request={"messages": said}, content=f"Answer {call}: " + "because " * 25)


def texts(number: int) -> Iterator[ModelCalled]:
    """Calls that carry the same long text."""
    for call in range(1, number + 1):
        said = [{"role": "user", "content": TEXT}, {"role": "user", "content": f"Question {call}"}]
        yield called(call, messages=said, request={"messages": said}, content=f"Answer {call}")


def conversation(number: int) -> Iterator[ModelCalled]:
    """Calls of one agent: what it said and was told before goes with each."""
    said: list[dict[str, Any]] = []
    for call in range(1, number + 1):
        said = [*said, {"role": "user", "content": f"Step {call}: " + "do it " * 80}]
        yield called(call, messages=tuple(said), request={"messages": said}, content=f"Done {call}: " + "done " * 60)
        said = [*said, {"role": "assistant", "content": f"Done {call}: " + "done " * 60}]


def journalled(events: Iterable[ModelCalled]) -> dict[str, float]:
    """Commit the events of one run; CPU and bytes for each."""
    from django.utils import timezone

    from workbench.experiments.journal import DatabaseJournal, Past
    from workbench.experiments.models import Plan, Run
    from workbench.experiments.totals import Totals
    from workbench.experiments.writer import Held, Writer

    made, before = list(events), database_bytes()
    plan, _ = Plan.objects.get_or_create(hash="bench", defaults={"data": {}, "topology": "bench"})
    row = Run.objects.create(plan=plan, status="running", attempt=1, owner="bench", heartbeat_at=timezone.now())
    writer = Writer()
    journal = DatabaseJournal(writer, Held(row.pk, 1, "bench"), [], Past(0, Totals()))

    async def append() -> None:
        for event in made:
            await journal.append(event)

    began, clock = time.process_time(), time.perf_counter()
    asyncio.run(append())
    cpu, wall = time.process_time() - began, time.perf_counter() - clock
    writer.close()
    raw = sum(len(event.model_dump_json()) for event in made)
    return {
        "cpu_ms_per_event": rounded(cpu / len(made) * 1e3),
        "wall_ms_per_event": rounded(wall / len(made) * 1e3),
        "bytes_per_event": rounded((database_bytes() - before) / len(made)),
        "json_bytes_per_event": rounded(raw / len(made)),
    }


def database_bytes() -> int:
    """What the database takes, with all that is committed."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])
