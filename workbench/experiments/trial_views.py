"""Trying the draft of a topology beside the canvas: start it, watch it, look into every visit."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from workbench.catalog.authors import author_of
from workbench.engine.errors import WorkbenchError
from workbench.experiments.models import Run
from workbench.experiments.run_views import run_query
from workbench.experiments.trials import Given, trial_lights, trial_said, trial_start, trials_listed
from workbench.topologies.drafts import draft_open, draft_step, step_state
from workbench.topologies.gitcommand import StoreError
from workbench.topologies.modelpicker import model_choices
from workbench.topologies.models import TopologyDraft
from workbench.topologies.previews import instances_offered
from workbench.topologies.reading import NAME


def _draft(request: HttpRequest, name: str) -> TopologyDraft:
    if not NAME.fullmatch(name):
        raise Http404("There is no such topology.")
    try:
        return draft_open(name, author_of(request))
    except StoreError as error:
        raise Http404(str(error)) from error


@require_http_methods(["GET", "POST"])
def topology_trial(request: HttpRequest, name: str) -> HttpResponse:
    """The form; posted, it starts a run of the draft and shows it."""
    draft = _draft(request, name)
    part = bool(request.headers.get("HX-Request"))
    given = Given(*(request.POST.get(key, "") for key in Given._fields))
    context: dict[str, Any] = {"name": name, "given": given, "instances": instances_offered()}
    context |= {"models": model_choices().models, "trials": trials_listed(name)}
    if request.method == "POST":
        try:
            run = trial_start(draft, given)
        except WorkbenchError as error:
            context["trouble"] = str(error)
        else:
            address = f"{reverse('topology_trial_run', args=[name, run.pk])}?version={draft.version}"
            return redirect(address)
    return render(request, f"experiments/{'_trial' if part else 'trial'}.html", context)


@require_GET
def topology_trial_run(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """One trial as it goes on: a fragment asks again every second until it has ended."""
    draft = _draft(request, name)
    run = get_object_or_404(run_query(), pk=pk, plan__topology=name)
    version = request.GET.get("version", "")
    step = draft.steps.filter(version=int(version)).first() if version.isdecimal() and len(version) < 10 else None
    keys = list(step_state(step or draft_step(draft)).keys)
    context = {
        "name": name, "run": run, "visits": trial_said(run), "version": version, "lights": trial_lights(run, keys),
        "given": Given(), "instances": instances_offered(), "models": model_choices().models,
        "trials": trials_listed(name), "waiting": run.status == Run.Status.QUEUED,
    }  # fmt: skip
    part = bool(request.headers.get("HX-Request"))
    return render(request, f"experiments/{'_trial_run' if part else 'trial'}.html", context)
