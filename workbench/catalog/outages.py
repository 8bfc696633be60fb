"""When providers did not answer that had answered before: kept whenever somebody asks them, shown on the page of models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from workbench.catalog.models import ProviderState
from workbench.engine.providers import ProbeResult

KEPT = timedelta(days=30)
SHOWN = 5
OFTEN = timedelta(seconds=30)
"""A state that goes on is not written down more often."""


class Outage(NamedTuple):
    """A stretch of time in which a provider did not answer. It was asked only now and then: it began after `since`, when
    it still answered, and `until` is None while it lasts."""

    since: datetime
    began: datetime
    until: datetime | None
    message: str

    @property
    def seconds(self) -> float:
        """From when it was first seen to be away, until it was seen to answer, or now."""
        return ((self.until or timezone.now()) - self.began).total_seconds()


def answers_keep(results: Mapping[str, ProbeResult]) -> None:
    """Write down how these providers answered just now. A database that can't be written stops nobody who asks."""
    try:
        with transaction.atomic():
            latest: dict[str, ProviderState] = {}
            for state in ProviderState.objects.filter(provider__in=results).order_by("pk"):
                latest[state.provider] = state
            for provider, result in results.items():
                answer_keep(provider, result, latest.get(provider))
    except DatabaseError:
        pass  # the doctor asks before there are tables


def answer_keep(provider: str, result: ProbeResult, last: ProviderState | None) -> None:
    now, message = timezone.now(), result.message[:2000]
    if last is None or last.answers != result.ok:
        ProviderState.objects.filter(provider=provider, seen_at__lt=now - KEPT).delete()
        ProviderState.objects.create(provider=provider, answers=result.ok, message=message, began_at=now, seen_at=now)
    elif now - last.seen_at > OFTEN:
        ProviderState.objects.filter(pk=last.pk).update(seen_at=now, message=message)


def answers_keep_apart(results: Mapping[str, ProbeResult]) -> None:
    """The same on a thread that has no other use for a database."""
    try:
        answers_keep(results)
    finally:
        connection.close()


def outages(providers: Iterable[str]) -> dict[str, list[Outage]]:
    """The latest outages of each provider, newest first, in one query."""
    states: dict[str, list[ProviderState]] = defaultdict(list)
    wanted = ProviderState.objects.filter(provider__in=list(providers), seen_at__gt=timezone.now() - KEPT)
    for state in wanted.order_by("pk"):
        states[state.provider].append(state)
    return {provider: outages_of(found)[:SHOWN] for provider, found in states.items()}


def outages_of(states: list[ProviderState]) -> list[Outage]:
    """A provider that never answered has no outage: it is not set up."""
    found: list[Outage] = []
    answered: ProviderState | None = None
    away: ProviderState | None = None
    for state in states:
        if not state.answers:
            away = away or state
        else:
            if away is not None and answered is not None:
                found.append(Outage(answered.seen_at, away.began_at, state.began_at, away.message))
            answered, away = state, None
    if away is not None and answered is not None:
        found.append(Outage(answered.seen_at, away.began_at, None, away.message))
    return found[::-1]
