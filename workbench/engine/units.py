"""A visit that maps: the node runs once for each unit, or for groups of units, layer by layer, until one result is left.

Results keep the order of the units, whatever finishes first. A unit that failed is a message with that status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from workbench.engine.errors import LimitReached, WorkbenchError
from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted
from workbench.engine.people import Standing
from workbench.engine.scheduling import Visit

Inbox = tuple[MessageData, ...]


class _Result(NamedTuple):
    messages: tuple[MessageData, ...]
    error: WorkbenchError | None = None


class Units:
    """The units of one visit. `once` runs the node on one inbox: at once for wiring, or as work that waits; then
    `standing` says which units wait for a person: those make room for others."""

    def __init__(
        self, node: str, visit: Visit, once: Callable[[int, Inbox], Any], standing: Standing | None = None
    ) -> None:
        self._node, self._visit, self._once = node, visit, once
        self._standing = standing or Standing(lambda: None)
        self._number = 0

    def wired(self) -> Emitted:
        """All units of a node that does not wait."""

        def layer(inboxes: list[Inbox]) -> list[_Result]:
            return [self._attempt(number, inbox) for number, inbox in self._numbered(inboxes)]

        results = layer(self._first_layer())
        while self._visit.group_size and len(results) > 1:
            results = layer(self._groups(self._together(results)))
        return self._emitted(results)

    async def worked(self) -> Emitted:
        """All units of a node that waits, `max_parallel` at a time. A limit that is hit lets those under way finish."""
        results = await self._layer(self._first_layer())
        while self._visit.group_size and len(results) > 1:
            results = await self._layer(self._groups(self._together(results)))
        return self._emitted(results)

    def _first_layer(self) -> list[Inbox]:
        units = self._visit.units or ()
        if self._visit.group_size:
            return self._groups(units, self._visit.inbox)
        return [(*self._visit.inbox, unit) for unit in units]

    def _groups(self, units: Sequence[MessageData], before: Inbox = ()) -> list[Inbox]:
        size = self._visit.group_size or 1
        return [(*before, *units[first : first + size]) for first in range(0, len(units), size)]

    def _together(self, results: list[_Result]) -> list[MessageData]:
        """The results of a layer as the units of the next; a group that failed ends the reduction."""
        for result in results:
            if result.error is not None:
                raise result.error
        return [message for result in results for message in result.messages[-1:]]

    def _numbered(self, inboxes: list[Inbox]) -> list[tuple[int, Inbox]]:
        first = self._number
        self._number += len(inboxes)
        return list(enumerate(inboxes, first))

    def _attempt(self, number: int, inbox: Inbox) -> _Result:
        try:
            return _Result(self._once(number, inbox))
        except LimitReached:
            raise
        except WorkbenchError as error:
            return self._failed(error)

    def _failed(self, error: WorkbenchError) -> _Result:
        return _Result((MessageData(text="", source=self._node, status="failed"),), error)

    async def _layer(self, inboxes: list[Inbox]) -> list[_Result]:
        gate = asyncio.Semaphore(self._visit.max_parallel)
        hit: list[LimitReached] = []
        units = self._numbered(inboxes)
        for number, _ in units:
            self._standing.begin(number, gate)

        async def one(number: int, inbox: Inbox) -> _Result:
            async with gate:
                try:
                    if hit:
                        return self._failed(hit[0])
                    work: Awaitable[Emitted] = self._once(number, inbox)
                    return _Result((await work).messages)
                except LimitReached as error:
                    hit.append(error)
                    self._standing.give_up(error)
                    return self._failed(error)
                except WorkbenchError as error:
                    return self._failed(error)
                finally:
                    self._standing.end(number)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number, inbox)) for number, inbox in units]
        if hit:
            raise hit[0]
        return [task.result() for task in tasks]

    def _emitted(self, results: list[_Result]) -> Emitted:
        first = next((result.error for result in results if result.error is not None), None)
        messages = tuple(message for result in results for message in result.messages)
        return Emitted(messages, reason=str(first) if first else "", code=first.code if first else "")
