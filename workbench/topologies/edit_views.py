"""The editor of a topology: one draft, shown as canvas, list and text, changed by one set of commands.

Every change can be asked for in two ways that do the same: JSON from the page's script, or a plain form.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from workbench.catalog.authors import author_of
from workbench.engine.documents import read_json
from workbench.engine.errors import InvalidDocument
from workbench.topologies import selectors, services, studio
from workbench.topologies.drafts import (
    Asked,
    DraftConflict,
    Outcome,
    draft_catch_up,
    draft_change,
    draft_commit,
    draft_discard,
    draft_newer,
    draft_open,
    draft_redo,
    draft_step,
    draft_undo,
    step_labels,
    step_state,
)
from workbench.topologies.editing.answers import Found, counts_of, state_problems
from workbench.topologies.editing.conditionforms import Posted
from workbench.topologies.editing.formcommands import form_commands
from workbench.topologies.editing.state import CommandRefused, State, nodes_of
from workbench.topologies.editpage import Chosen, chosen_of, list_context, panel_context, text_context
from workbench.topologies.gitcommand import StoreError
from workbench.topologies.models import TopologyDraft
from workbench.topologies.picture import topology_svg
from workbench.topologies.reading import NAME
from workbench.topologies.store import Conflict

Context = dict[str, Any]
Json = Any
CANVAS = "topologies/built/canvas.js"
LONGEST_MESSAGE = 2000
STILL = 60  # up to so many nodes the page holds a picture too, for browsers without JavaScript
PARTS = ("list", "text", "panel", "problems", "marks")


def draft_of(request: HttpRequest, name: str) -> TopologyDraft:
    if not NAME.fullmatch(name):
        raise Http404("There is no such topology.")
    try:
        return draft_open(name, author_of(request))
    except StoreError as error:
        raise Http404(str(error)) from error


@never_cache
@require_GET
def topology_edit(request: HttpRequest, name: str) -> HttpResponse:
    """The page."""
    services.topologies_sync()
    return _page(request, draft_of(request, name))


def _page(request: HttpRequest, draft: TopologyDraft, more: Context | None = None, status: int = 200) -> HttpResponse:
    step = draft_step(draft)
    state = step_state(step)
    problems = state_problems(state, draft.name)
    asked = _asked(request)
    chosen = chosen_of(asked, state)
    undo, redo = step_labels(step)
    newer = draft_newer(draft)
    context: Context = {
        "name": draft.name,
        "draft": draft,
        "version": step.version,
        "state": state,
        "undo": undo,
        "redo": redo,
        "newer": newer,
        "gone": _is_gone(draft),
        "canvas": finders.find(CANVAS) is not None,
        "picture": topology_svg(state.document) if len(nodes_of(state.document)) <= STILL else "",
        "state_json": studio.draft_json(draft, problems=problems, state=state),
        **_problems_context(problems, chosen),
    }
    if newer is not None:
        context["newest"] = next(iter(selectors.topology_history(draft.name, limit=1)), None)
    context |= _parts(draft, state, problems, chosen, asked) | (more or {})
    return render(request, "topologies/edit/page.html", context, status=status)


def _asked(request: HttpRequest) -> QueryDict:
    """Where on the page the person is: as the address says, or the form that was sent from there."""
    if request.method != "POST":
        return request.GET
    asked = QueryDict(mutable=True)
    for key in ("view", "node", "edge", "syntax"):
        if request.POST.get(f"at_{key}"):
            asked[key] = str(request.POST[f"at_{key}"])
    return asked


def _parts(draft: TopologyDraft, state: State, problems: list[Found], chosen: Chosen, asked: QueryDict) -> Context:
    context: Context = {"panel": panel_context(draft.name, state, problems, chosen, asked)}
    if chosen.view == "list":
        context["list"] = list_context(state, problems, chosen, asked)
    elif chosen.view == "text":
        context["text"] = text_context(state, problems, asked.get("syntax", ""))
    return context


def _problems_context(problems: list[Found], chosen: Chosen) -> Context:
    return {"problems": problems, "counts": counts_of(problems), "chosen": chosen}


def _is_gone(draft: TopologyDraft) -> bool:
    """Whether the topology was deleted while it was being edited."""
    return draft.base_commit != "" and not selectors.topology_exists(draft.name)


@require_GET
def edit_state(request: HttpRequest, name: str) -> JsonResponse:
    """The whole draft, as JSON."""
    return JsonResponse(studio.draft_json(draft_of(request, name)))


@require_GET
def edit_part(request: HttpRequest, name: str, part: str) -> HttpResponse:
    """One part of the page, as it is now: the list, the text, the panel or the problems."""
    if part not in PARTS:
        raise Http404("There is no such part.")
    draft = draft_of(request, name)
    step = draft_step(draft)
    state = step_state(step)
    problems = state_problems(state, name)
    chosen = chosen_of(request.GET, state)
    if part in ("list", "text", "marks"):
        chosen = chosen._replace(view="text" if part == "marks" else part)
    context = {"name": name, "draft": draft, "version": step.version, "state": state}
    context |= _problems_context(problems, chosen) | _parts(draft, state, problems, chosen, request.GET)
    return render(request, f"topologies/edit/_{part}.html", context)


@require_POST
def edit_commands(request: HttpRequest, name: str) -> HttpResponse:
    """Commands from the page's script."""
    draft = draft_of(request, name)
    asked = read_json(request.body).data
    if not isinstance(asked, dict):
        return _refused(draft, "The request can't be read.")
    if asked.get("draft") != draft.pk:
        return _refused(draft, f"This page shows a draft of {name} that is gone. Reload it.")
    commands = asked.get("commands")
    try:
        outcome = _done(draft, asked, commands if isinstance(commands, list) else [])
    except CommandRefused as error:
        return _refused(draft, str(error))
    except DraftConflict as error:
        return JsonResponse(studio.conflict_json(error, commands if isinstance(commands, list) else []), status=409)
    return JsonResponse(studio.outcome_json(outcome))


def _refused(draft: TopologyDraft, message: str) -> JsonResponse:
    draft.refresh_from_db()
    return JsonResponse({"error": "refused", "message": message, "state": studio.draft_json(draft)}, status=422)


def _done(draft: TopologyDraft, asked: dict[str, Json], commands: list[Json]) -> Outcome:
    version = asked.get("version")
    version = version if isinstance(version, int) else 0
    if asked.get("undo"):
        return draft_undo(draft, version)
    if asked.get("redo"):
        return draft_redo(draft, version)
    label = asked.get("label")
    more = {"typing": bool(asked.get("typing")), "merge": bool(asked.get("merge"))}
    return draft_change(draft, Asked(version, commands, label if isinstance(label, str) else "", **more))


@require_POST
def edit_form(request: HttpRequest, name: str) -> HttpResponse:
    """The same commands from a form, with or without a script. The answer is JSON where the script asks for it."""
    draft = draft_of(request, name)
    scripted = "application/json" in request.headers.get("Accept", "")
    posted = request.POST
    step = draft_step(draft)
    version = int(number) if (number := posted.get("version", "")).isdecimal() and len(number) < 10 else 0
    try:
        if posted.get("draft") != str(draft.pk):
            raise CommandRefused(f"This page showed a draft of {name} that is gone. It is loaded anew.")
        commands = form_commands(Posted(dict(posted.lists())), _seen(draft, version) or step_state(step))
        asked = {
            "version": version, "undo": "undo" in posted, "redo": "redo" in posted,
            "typing": "typing" in posted, "merge": "merge" in posted,
        }  # fmt: skip
        if not (commands or asked["undo"] or asked["redo"]):
            return JsonResponse(studio.draft_json(draft)) if scripted else _back(name, posted)
        outcome = _done(draft, asked, commands)
    except CommandRefused as error:
        if scripted:
            return _refused(draft, str(error))
        messages.error(request, str(error))
        return _back(name, posted)
    except DraftConflict as error:
        if scripted:
            return JsonResponse(studio.conflict_json(error, commands), status=409)
        return _page(request, draft, {"stale": error, "posted": _hidden(posted)}, status=409)
    if not scripted:
        return _back(name, posted, outcome)
    answer = studio.outcome_json(outcome)
    if posted.get("do") == "set_text":
        answer["marks"] = studio.marks_json(outcome, posted.get("text", ""), posted.get("syntax", "json"))
    return JsonResponse(answer)


def _seen(draft: TopologyDraft, version: int) -> State | None:
    """What the person saw who filled in the form."""
    step = draft.steps.filter(version=version).first()
    return step_state(step) if step is not None else None


def _hidden(posted: QueryDict) -> list[tuple[str, str]]:
    return [
        (key, value) for key in posted for value in posted.getlist(key) if key not in ("csrfmiddlewaretoken", "merge")
    ]


def _back(name: str, posted: QueryDict, outcome: Outcome | None = None) -> HttpResponse:
    """To the page, where the person was; what was just made is opened."""
    query: dict[str, str] = {}
    for key in ("view", "node", "edge", "top", "syntax"):
        if posted.get(f"at_{key}"):
            query[key] = str(posted[f"at_{key}"])
    if outcome is not None:
        changed = outcome.changed
        if query.get("node") in changed.renamed:
            query["node"] = changed.renamed[query["node"]]
        for key, names in (("edge", changed.edges), ("node", changed.nodes)):
            if names and len(names) == 1:
                query = {part: value for part, value in query.items() if part in ("view", "syntax")} | {key: names[0]}
    return redirect(f"{reverse('topology_edit', args=[name])}?{urlencode(query)}")


@require_POST
def edit_commit(request: HttpRequest, name: str) -> HttpResponse:
    """Commit the draft to Git, with a message. What stands in the way is said on the page, and nothing is lost."""
    services.topologies_sync()
    draft = draft_of(request, name)
    said = request.POST.get("message", "").strip()
    context: Context = {"message": said}
    if not said or len(said) > LONGEST_MESSAGE:
        context["commit_error"] = (
            "Say in a few words what you changed." if not said else f"At most {LONGEST_MESSAGE:,} characters, please."
        )
        return _page(request, draft, context)
    try:
        before = draft.base_commit
        topology = draft_commit(draft, int(request.POST.get("version") or 0), said, author_of(request))
    except InvalidDocument as error:
        count = sum(problem.severity == "error" for problem in error.problems)
        context["commit_error"] = f"Not committed: {count} error{'s' if count > 1 else ''} must be mended first."
        return _page(request, draft, context)
    except (CommandRefused, StoreError, ValueError) as error:
        context["commit_error"] = f"Not committed. {error}"
        return _page(request, draft, context)
    except DraftConflict as error:
        context["commit_error"] = f"Not committed: {error} This page shows the newest."
        return _page(request, draft, context, status=409)
    except Conflict as error:
        services.topologies_sync()
        context |= {"conflict": error, "lines": studio.difference_lines(error.difference)}
        return _page(request, draft, context, status=409)
    if topology.commit == before:
        messages.info(request, "Nothing was changed, so there is nothing to commit.")
    else:
        messages.success(request, f"Committed as {topology.commit[:10]}.")
    return redirect(topology)


@require_POST
def edit_merge(request: HttpRequest, name: str) -> HttpResponse:
    """Take over what somebody else committed; mine stays where both changed the same, or theirs if that is wanted."""
    services.topologies_sync()
    draft = draft_of(request, name)
    try:
        _, lost = draft_catch_up(
            draft, int(request.POST.get("version") or 0), theirs_win=request.POST.get("win") == "theirs"
        )
    except (CommandRefused, DraftConflict, StoreError, ValueError) as error:
        messages.error(request, str(error))
        return redirect("topology_edit", name)
    kept = "theirs" if request.POST.get("win") == "theirs" else "yours"
    if lost:
        places = ", ".join(lost[:8]) + (" …" if len(lost) > 8 else "")
        messages.warning(request, f"Merged. Both changed {places}: {kept} stands there. Undo takes the merge back.")
    else:
        messages.success(request, "Merged: both changes are in the draft now. Undo takes the merge back.")
    return redirect("topology_edit", name)


@require_POST
def edit_discard(request: HttpRequest, name: str) -> HttpResponse:
    """Back to what is committed."""
    draft = draft_of(request, name)
    try:
        draft_discard(draft, int(request.POST.get("version") or 0))
    except (DraftConflict, ValueError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The draft says what is committed again. Undo brings your changes back.")
    return redirect("topology_edit", name)
