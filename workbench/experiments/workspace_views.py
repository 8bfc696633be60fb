"""Pages of a run's files: what changed, in all and by each visit, and every file, shown without trusting it."""

from __future__ import annotations

import tempfile
import zipfile
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from workbench.engine.errors import WorkbenchError
from workbench.engine.filestore.diffs import changes, diff_of
from workbench.engine.filestore.lineage import shown as shown_path
from workbench.experiments import workspace_artefacts as artefacts
from workbench.experiments.journal import event_read
from workbench.experiments.models import Run
from workbench.experiments.paging import page_of, query_without
from workbench.experiments.run_views import run_query
from workbench.experiments.views import HtmxRequest
from workbench.experiments.workspace_diffs import PageDiff, page_diff
from workbench.experiments.workspace_versions import FileRow, Versions, VisitVersion

PER_PAGE = 200
VISITS = 100
CONFLICTS = 20
SUMMARY = 10
STOP_POLLING = 286  # what htmx understands as: nothing more will come
SEALED = "; ".join(
    [
        "sandbox",
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "frame-ancestors 'self'",
    ]
)
"""For what code wrote: no script, no form, no address of this site, nothing from elsewhere; only our own pages frame it."""


@require_GET
def run_files(request: HtmxRequest, pk: int) -> HttpResponse:
    """The files of a run: at its end, or as one visit left them (`visit` is its commit), and what changed."""
    run = get_object_or_404(run_query(), pk=pk)
    versions = Versions(run)
    visits = in_their_order(run, versions.visits()) if versions.start else []
    if request.htmx:
        status = STOP_POLLING if run.has_ended else 200
        return render(request, "experiments/_run_files.html", summary(run, versions, visits), status=status)
    context: dict[str, Any] = {"run": run, "visits": visits, "version": ""}
    if versions.start:
        context |= shown_version(request, versions, visits)
    return render(request, "experiments/run_files.html", {**context, "conflicts": conflicts(run, versions)})


def in_their_order(run: Run, visits: list[VisitVersion]) -> list[VisitVersion]:
    """The visits as they ended; one that still goes on comes last."""
    nodes = {visit.node for visit in visits}
    ended = run.events.filter(kind="visit_ended", node__in=nodes).order_by("sequence").values_list("node", "visit")
    order = {place: number for number, place in enumerate(ended)}
    return sorted(visits, key=lambda visit: order.get((visit.node, visit.visit), len(order)))


def shown_version(request: HttpRequest, versions: Versions, visits: list[VisitVersion]) -> dict[str, Any]:
    """What the page says of the version that it shows."""
    asked = request.GET.get("visit", "")
    chosen = next((visit for visit in visits if visit.commit == asked), None)
    if asked and chosen is None:
        raise Http404("No visit of the run left such a version.")
    version = chosen.commit if chosen else versions.newest(visits)
    before = versions.before(version) if chosen else versions.start
    tree = versions.tree(version)
    rows = versions.rows(tree)
    page = page_of(request, rows, PER_PAGE)
    page.object_list = [versions.sized(row) for row in page]
    shown_visits = page_of(request, visits, VISITS, "visits")
    shown_visits.object_list = [versions.counted(visit) for visit in shown_visits]
    return {
        "version": version,
        "before": before,
        "chosen": chosen,
        "diff": page_diff(versions.store, versions.between(before, version)),
        "page": page,
        "size": sum(row.size for row in page) if page.paginator.num_pages == 1 else None,
        "hidden": len(tree) - len(rows),
        "visits": shown_visits,
        "query": query_without(request),
    }


def summary(run: Run, versions: Versions, visits: list[VisitVersion]) -> dict[str, Any]:
    """What the run's own page says of its files."""
    if not versions.start:
        return {"run": run, "diff": None}
    version = versions.newest(visits)
    diff = page_diff(versions.store, versions.between(versions.start, version))
    return {"run": run, "diff": diff, "files": diff.files[:SUMMARY], "more": diff.total - SUMMARY, "version": version}


def conflicts(run: Run, versions: Versions) -> list[dict[str, Any]]:
    """The conflicts that the journal tells of, each file with both sides."""
    rows = run.events.filter(kind="merge_conflicted").order_by("sequence").values_list("data", flat=True)[:CONFLICTS]
    found = []
    for event in map(event_read, rows):
        try:
            sides = [conflict_side(versions, event.base, side, set(event.paths)) for side in event.sides]
        except WorkbenchError:
            continue
        found.append({"event": event, "sides": list(zip(event.names, sides, strict=True))})
    return found


def conflict_side(versions: Versions, base: str, side: str, told: set[str]) -> PageDiff:
    """What one side changed in the files on which they contradict each other."""
    was, now = versions.between(base, side)
    picked = [{path: entry for path, entry in tree.items() if shown_path(path) in told} for tree in (was, now)]
    return page_diff(versions.store, (picked[0], picked[1]))


@require_GET
def run_file(request: HttpRequest, pk: int, version: str) -> HttpResponse:
    """One file of a version, shown as what it is; with `before`, what changed in it since that version."""
    run = get_object_or_404(run_query(), pk=pk)
    versions = Versions(run)
    row = file_or_404(request, versions, version, deleted="before" in request.GET)
    context: dict[str, Any] = {"run": run, "version": version, "row": row, "before": request.GET.get("before", "")}
    if context["before"]:
        context["diff"] = page_diff(versions.store, versions.between(context["before"], version), only=row.path)
    else:
        context |= shown_file(versions, row)
    return render(request, "experiments/run_file.html", context)


def shown_file(versions: Versions, row: FileRow) -> dict[str, Any]:
    """How a file is shown."""
    kind = artefacts.kind_of(row.label, row.size, row.is_link)
    found: dict[str, Any] = {"kind": kind}
    if kind in ("large", "image"):
        return found
    content = versions.store.get(row.entry.id)
    if kind == "table":
        found["sheet"] = artefacts.sheet_of(row.label, content)
    elif kind == "archive":
        found["listing"] = artefacts.listing_of(row.label, content)
    elif kind == "text" and artefacts.is_binary(content):
        found["kind"] = "binary"
    else:
        found["text"] = content.decode("utf-8", "replace")
    return found


def tree_or_404(versions: Versions, version: str) -> Any:
    try:
        return versions.tree(version)
    except WorkbenchError as error:
        raise Http404(str(error)) from error


def file_or_404(request: HttpRequest, versions: Versions, version: str, *, deleted: bool = False) -> FileRow:
    """The file that the address names; where that is about a change, it may be gone."""
    name = request.GET.get("path", "")
    tree_or_404(versions, version)
    row = versions.file(version, name)
    if row is None and deleted:
        tree_or_404(versions, request.GET["before"])
        row = versions.file(request.GET["before"], name)
    if row is None:
        raise Http404("There is no such file in this version.")
    return row


@require_GET
@xframe_options_sameorigin
def run_file_raw(request: HttpRequest, pk: int, version: str) -> HttpResponse:
    """A file as it is, to be saved; a picture, or a page that was asked for as one (`as`), to be shown inside ours."""
    versions = Versions(get_object_or_404(Run, pk=pk))
    row = file_or_404(request, versions, version)
    shown, kind = request.GET.get("as", ""), artefacts.kind_of(row.label, row.size, row.is_link)
    media = "application/octet-stream"
    if shown == "image" and kind == "image":
        media = artefacts.image_type(row.label)
    elif shown == "page" and kind == "page":
        media = "text/html; charset=utf-8"
    name = row.label.rpartition("/")[2]
    return sealed(versions.store.get(row.entry.id), media, name, save=media == "application/octet-stream")


def sealed(content: bytes, media: str, name: str, *, save: bool) -> HttpResponse:
    """An answer that holds what code wrote, with which a browser can do no harm."""
    response = HttpResponse(content, content_type=media)
    response["Content-Security-Policy"] = SEALED
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Referrer-Policy"] = "no-referrer"
    disposition = content_disposition_header(save, name if save else "")
    if disposition:
        response["Content-Disposition"] = disposition
    return response


@require_GET
def run_diff(request: HttpRequest, pk: int) -> HttpResponseBase:
    """All that changed, as a unified diff to be saved."""
    versions = Versions(get_object_or_404(Run, pk=pk))
    if not versions.start:
        raise Http404("The run has no files.")
    visits = versions.visits()
    differing = versions.between(versions.start, versions.newest(visits))
    diff = diff_of(versions.store, changes(*differing), most=100_000_000)
    return sealed(diff.text, "application/octet-stream", f"run-{pk}.diff", save=True)


@require_GET
def run_archive(request: HttpRequest, pk: int, version: str) -> HttpResponseBase:
    """All files of a version in one ZIP. Names are written so that no program that unpacks it is led astray."""
    versions = Versions(get_object_or_404(Run, pk=pk))
    rows = versions.rows(tree_or_404(versions, version))
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, row in enumerate(rows):
                safe = row.label.replace("\\", "_").replace(":", "_")
                if safe != row.label:  # so that it is nobody else's name
                    safe = f"{safe}_{number}"
                if not row.is_link:
                    archive.writestr(zipfile.ZipInfo(safe), versions.store.get(row.entry.id), zipfile.ZIP_DEFLATED)
        file.seek(0)
        return sealed(file.read(), "application/octet-stream", f"run-{pk}-files.zip", save=True)
