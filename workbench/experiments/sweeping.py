"""What keeps experiments going: tickets sent in turns, lost runs brought back, the end told to who waits for it."""

from __future__ import annotations

from workbench.experiments import lifecycle, tickets
from workbench.experiments.clocks import Clock
from workbench.experiments.models import Experiment, Run
from workbench.experiments.questions import questions_expire

CHUNK = 100
clock = Clock()


def runs_dispatch(experiment_id: int, after: int = 0) -> None:
    """Tickets for the next hundred queued runs; another message behind them fetches the rest."""
    queued = Run.objects.filter(experiment=experiment_id, status=Run.Status.QUEUED, pk__gt=after).order_by("pk")
    ids = list(queued.values_list("pk", flat=True)[: CHUNK + 1])
    messages: list[tickets.Message] = [(tickets.RUN, (pk,)) for pk in ids[:CHUNK]]
    if len(ids) > CHUNK:
        messages.append((tickets.DISPATCH, (experiment_id, ids[CHUNK - 1])))
    tickets.send(messages)


def experiment_close(experiment_id: int) -> None:
    """End an experiment that has no open run left, once, and have it judged when it ran to its end.

    A message that gets lost here is sent again by the evaluations' own sweep.
    """
    settled = lifecycle.experiment_settle(experiment_id)
    if settled is not None and settled.changed and settled.status == Experiment.Status.FINISHED:
        tickets.send_or_log([(tickets.EVALUATE, (experiment_id,))])


def tickets_again() -> None:
    """Send the tickets of runs that have waited for long, while none is under way."""
    waiting, alone = lifecycle.runs_waiting_long(), lifecycle.runs_alone_waiting_long()
    if (waiting or alone) and tickets.queue_length() == 0:
        messages: list[tickets.Message] = [(tickets.RUN, (pk,)) for pk in alone]
        messages += [(tickets.DISPATCH, (experiment, first - 1)) for experiment, first in waiting.items()]
        tickets.send_or_log(messages)


def sweep() -> None:
    """Find runs without a worker, queued runs without a ticket, experiments without an open run."""
    questions_expire()
    requeued = [] if clock.was_set() else lifecycle.runs_sweep().requeued
    if requeued:
        tickets.send_or_log([(tickets.RUN, (pk,)) for pk in requeued])
    else:
        tickets_again()
    active = Experiment.objects.filter(status__in=(Experiment.Status.RUNNING, Experiment.Status.STOPPING))
    for experiment_id in active.values_list("pk", flat=True):
        experiment_close(experiment_id)
