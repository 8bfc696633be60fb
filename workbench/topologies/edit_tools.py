"""Looking without changing: which edges can fire, what a condition says to an output, what a prompt becomes."""

from __future__ import annotations

import json

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from workbench.engine.dryrun import dry_run
from workbench.engine.errors import InvalidDocument, WorkbenchError
from workbench.engine.planning import plan_topology
from workbench.engine.validation import check_document
from workbench.topologies.drafts import draft_step, step_state
from workbench.topologies.edit_views import draft_of
from workbench.topologies.editing.conditionforms import condition_tried, sentence
from workbench.topologies.editing.pasting import fragment_of
from workbench.topologies.editing.patches import edges_by_key
from workbench.topologies.editing.state import CommandRefused, State, nodes_of
from workbench.topologies.library import Library
from workbench.topologies.modelpicker import models_asked
from workbench.topologies.previews import instances_offered, problem_named, prompt_preview


def _state(request: HttpRequest, name: str) -> State:
    return step_state(draft_step(draft_of(request, name)))


@require_GET
def edit_dry_run(request: HttpRequest, name: str) -> HttpResponse:
    """Which edges can fire: every branch driven with made-up outputs."""
    state, library = _state(request, name), Library()
    found, sentence = [], ""
    try:
        checked = check_document(state.document, library)
        if checked.spec is None or state.broken is not None:
            raise InvalidDocument(checked.problems)
        report = dry_run(plan_topology(checked.spec, library))
    except WorkbenchError as error:
        sentence = f"Mend the errors first. {error}" if isinstance(error, InvalidDocument) else str(error)
    else:
        found = [
            {"key": state.keys[edge.edge], "from": edge.source, "to": edge.target, "fired": edge.fired, "why": edge.why}
            for edge in report.edges
        ]
        fired = sum(edge.fired for edge in report.edges)
        sentence = f"{fired} of {len(found)} edge{'' if len(found) == 1 else 's'} can fire."
        for inside in report.nested:
            within = inside.report.every_edge()
            sentence += f" Inside node {inside.node!r}: {sum(edge.fired for edge in within)} of {len(within)}."
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"edges": found, "sentence": sentence})
    return render(request, "topologies/edit/dry_run.html", {"name": name, "edges": found, "sentence": sentence})


@require_GET
def edit_models(request: HttpRequest, name: str) -> HttpResponse:
    """The models that there are, for every field that names one; the page asks for it once, when it is there."""
    return render(request, "topologies/edit/_models.html", {"name": name, "models": models_asked()})


@require_GET
def edit_fragment(request: HttpRequest, name: str) -> HttpResponse:
    """The chosen nodes and the edges among them as text, to be pasted into another topology."""
    state = _state(request, name)
    try:
        fragment = fragment_of(state, request.GET.getlist("nodes") or list(nodes_of(state.document)))
    except CommandRefused as error:
        raise Http404(str(error)) from error
    text = json.dumps(fragment, indent=2, ensure_ascii=False)
    return render(request, "topologies/edit/fragment.html", {"name": name, "text": text})


@require_POST
def edit_condition(request: HttpRequest, name: str) -> HttpResponse:
    """What the condition of an edge says to a sample output."""
    state, key = _state(request, name), request.POST.get("edge", "")
    edge = edges_by_key(state).get(key)
    if not isinstance(edge, dict):
        raise Http404("There is no such edge.")
    sample = request.POST.get("sample", "").replace("\r\n", "\n")
    status = "failed" if request.POST.get("sample_status") == "failed" else "succeeded"
    verdicts, message = condition_tried(edge.get("when"), sample, status)
    context = {"name": name, "edge": edge, "key": key, "sample": sample, "sentence": sentence(edge.get("when"))}
    context |= {"verdicts": verdicts, "message": message}
    part = "application/json" in request.headers.get("Accept", "") or request.headers.get("HX-Request")
    return render(request, f"topologies/edit/{'_verdicts' if part else 'condition'}.html", context)


@require_GET
def edit_preview(request: HttpRequest, name: str) -> HttpResponse:
    """A prompt, rendered for a chosen instance."""
    state, node = _state(request, name), request.GET.get("node", "")
    if node not in nodes_of(state.document):
        raise Http404("There is no such node.")
    field, chosen = request.GET.get("field", "/prompt"), request.GET.get("instance", "")
    visit = 2 if request.GET.get("visit") == "2" else 1
    preview = prompt_preview(state, node, field, problem_named(chosen), visit=visit)
    context = {
        "name": name, "node": node, "field": field, "preview": preview, "instances": instances_offered(),
        "instance": chosen, "visit": visit,
    }  # fmt: skip
    part = request.headers.get("HX-Request")
    return render(request, f"topologies/edit/{'_preview' if part else 'preview'}.html", context)
