"""Pages of topologies: the list, one topology, its text, its history, and any version of it."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.catalog.authors import author_of
from workbench.engine.documents import read_json
from workbench.engine.errors import InvalidDocument
from workbench.topologies import selectors, services
from workbench.topologies.facts import document_facts
from workbench.topologies.forms import CreateForm
from workbench.topologies.gitcommand import StoreError
from workbench.topologies.models import Topology
from workbench.topologies.picture import topology_svg
from workbench.topologies.reading import COMMIT, NAME, StoredTopology
from workbench.topologies.standalone import standalone_svg
from workbench.topologies.store import Conflict

PAGE = 48
VERSIONS = 50
Context = dict[str, Any]


@require_GET
def topology_list(request: HttpRequest) -> HttpResponse:
    """The gallery: one's own topologies, then the starters."""
    foreign = services.topologies_sync()
    search, tag = request.GET.get("q", ""), request.GET.get("tag", "")
    page = Paginator(selectors.topologies_listed(search, tag), PAGE).get_page(request.GET.get("page"))
    context = {
        "cards": selectors.topology_cards(list(page)),
        "page": page,
        "search": search,
        "tag": tag,
        "tags": selectors.tags_counted(),
        "drafts": selectors.drafts_open(author_of(request)),
        "foreign": foreign,
        "deleted": Topology.objects.exclude(deleted_at=None),
    }
    part = request.headers.get("HX-Request")
    return render(request, "topologies/_topologies.html" if part else "topologies/topology_list.html", context)


@require_POST
def topology_use(request: HttpRequest, name: str) -> HttpResponse:
    """A copy of one's own, opened in the editor."""
    get_object_or_404(Topology, name=name, deleted_at=None)
    try:
        topology = services.topology_use(name, author_of(request))
    except InvalidDocument:
        messages.error(request, f"{name} has errors, so it can't be copied. Mend it first.")
        return redirect("topology_edit", name)
    messages.success(request, f"{topology.name} is your copy of {name}.")
    return redirect("topology_edit", topology.name)


@require_GET
def topology_export(request: HttpRequest) -> HttpResponse:
    """Every topology in one archive, each as the file that the repository holds."""
    services.topologies_sync()
    topologies = selectors.topologies_listed(request.GET.get("q", ""), request.GET.get("tag", ""))
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for topology, text in zip(topologies, selectors.texts_of(topologies), strict=True):
            archive.writestr(f"{topology.name}.json", text)
    response = HttpResponse(packed.getvalue(), content_type="application/zip")
    response["Content-Disposition"] = 'attachment; filename="topologies.zip"'
    return response


@require_GET
def topology_detail(request: HttpRequest, name: str) -> HttpResponse:
    services.topologies_sync()
    topology = get_object_or_404(Topology, name=name)
    if topology.deleted_at is not None:
        return redirect("topology_history", name)
    stored = selectors.stored_topology(name)
    problems = services.topology_checked(stored.text, name).problems
    return render(
        request, "topologies/topology_detail.html", _shown(stored) | {"topology": topology, "problems": problems}
    )


def _shown(stored: StoredTopology) -> Context:
    document = read_json(stored.text).data
    return {
        "name": stored.name,
        "stored": stored,
        "picture": topology_svg(document),
        "facts": document_facts(document),
        "description": document.get("description", "") if isinstance(document, dict) else "",
    }


@require_http_methods(["GET", "POST"])
def topology_create(request: HttpRequest) -> HttpResponse:
    services.topologies_sync()
    form = CreateForm(request.POST or None, initial={"source": request.GET.get("copy", "")})
    context: Context = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            topology = services.topology_create(
                form.cleaned_data["name"], form.cleaned_data["source"], author_of(request)
            )
        except Conflict:
            form.add_error("name", "There is a topology of this name already. Choose another name.")
        except StoreError as error:
            form.add_error("name", str(error))
        except InvalidDocument as error:
            form.add_error("source", "It has errors, so it can't be used as a beginning. Mend it first.")
            context["problems"] = error.problems
        else:
            messages.success(request, f"{topology.name} is created.")
            return redirect("topology_edit", topology.name)
    return render(request, "topologies/topology_create.html", context)


@require_GET
def topology_history(request: HttpRequest, name: str) -> HttpResponse:
    services.topologies_sync()
    topology = get_object_or_404(Topology, name=name)
    page = max(int(number) if (number := request.GET.get("page", "1")).isdecimal() and len(number) < 7 else 1, 1)
    found = selectors.topology_history(name, skip=(page - 1) * VERSIONS, limit=VERSIONS + 1)
    context = {
        "topology": topology,
        "entries": found[:VERSIONS],
        "page": page,
        "earlier": page + 1 if len(found) > VERSIONS else None,
    }
    return render(request, "topologies/topology_history.html", context)


@require_GET
def topology_version(request: HttpRequest, name: str, commit: str) -> HttpResponse:
    stored = _stored(name, commit)
    topology = get_object_or_404(Topology, name=name)
    newest = topology.commit if topology.deleted_at is None else ""
    context = _shown(stored) | {
        "topology": topology,
        "version": selectors.topology_version(name, commit),
        "newest": newest,
        "lines": _lines(selectors.topology_difference(stored.blob, topology.blob)) if newest else [],
    }
    return render(request, "topologies/topology_version.html", context)


@require_POST
def topology_restore(request: HttpRequest, name: str) -> HttpResponse:
    commit = request.POST.get("commit", "")
    _stored(name, commit)
    topology = services.topology_restore(name, commit, author_of(request))
    messages.success(request, f"The version of {commit[:10]} is the newest again.")
    return redirect(topology)


@require_POST
def topology_delete(request: HttpRequest, name: str) -> HttpResponse:
    get_object_or_404(Topology, name=name, deleted_at=None)
    services.topology_delete(name, author_of(request))
    messages.success(request, f"{name} is deleted. Its history stays; restore any version of it here.")
    return redirect("topology_history", name)


@require_GET
def topology_picture(request: HttpRequest, name: str) -> HttpResponse:
    """The picture as a file of its own, of the newest version or of `?commit=`."""
    stored = _stored(name, request.GET.get("commit") or None)
    svg = standalone_svg(topology_svg(read_json(stored.text).data))
    response = HttpResponse(svg, content_type="image/svg+xml")
    response["Content-Disposition"] = f'inline; filename="{name}.svg"'
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response


@require_GET
def agent_topologies(request: HttpRequest, name: str) -> HttpResponse:
    """A fragment for the page of an agent: where it is used."""
    return render(
        request, "topologies/_agent_topologies.html", {"agent": name, "topologies": selectors.topologies_using(name)}
    )


def _stored(name: str, commit: str | None = None) -> StoredTopology:
    if not NAME.fullmatch(name) or (commit is not None and not COMMIT.fullmatch(commit)):
        raise Http404("There is no such version.")
    try:
        return selectors.stored_topology(name, commit)
    except StoreError as error:
        raise Http404(str(error)) from error


def _lines(difference: str) -> list[tuple[str, str]]:
    """The lines of a difference, each with what it is: added, removed, a place, or the same."""
    kinds = {"+": "add", "-": "remove", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in difference.splitlines()[:3000]]
