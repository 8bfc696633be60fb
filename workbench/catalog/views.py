"""Pages of the catalogue: agents by role, one agent, its versions, and the form that makes and changes one."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from workbench.catalog.authors import author_of
from workbench.catalog.forms import AgentForm, agent_initial
from workbench.catalog.models import AgentVersion
from workbench.catalog.selectors import agent_roles, agent_version_get, agents_by_role
from workbench.catalog.services import AgentConflict, agent_save
from workbench.engine.errors import InvalidDocument


@require_GET
def agent_list(request: HttpRequest) -> HttpResponse:
    search, role = request.GET.get("q", ""), request.GET.get("role", "")
    groups = agents_by_role(search, role)
    context = {"groups": groups, "search": search, "role": role, "roles": agent_roles()}
    template = "catalog/_agents.html" if request.headers.get("HX-Request") else "catalog/agent_list.html"
    return render(request, template, context)


@require_GET
def agent_detail(request: HttpRequest, name: str) -> HttpResponse:
    version = agent_version_get(name)
    return render(
        request, "catalog/agent_detail.html", _shown(version) | {"versions": version.agent.versions.all()[:200]}
    )


@require_GET
def agent_version(request: HttpRequest, name: str, number: int) -> HttpResponse:
    version = agent_version_get(name, number)
    newest = agent_version_get(name)
    return render(request, "catalog/agent_version.html", _shown(version) | {"newest": newest})


def _shown(version: AgentVersion) -> dict[str, object]:
    output = version.spec.get("output", "text")
    schema = json.dumps(output.get("json_schema"), indent=2, ensure_ascii=False) if isinstance(output, dict) else ""
    return {"version": version, "agent": version.agent, "spec": version.spec, "schema": schema}


@require_http_methods(["GET", "POST"])
def agent_create(request: HttpRequest) -> HttpResponse:
    """A new agent, blank or as a copy of another (`?copy=NAME`)."""
    initial: dict[str, object] = {"expected": 0}
    if request.GET.get("copy"):
        copied = agent_version_get(request.GET["copy"])
        initial = agent_initial(copied.spec, 0) | {"name": f"{copied.agent.name}-copy", "title": ""}
    form = AgentForm(request.POST or None, initial=initial)
    return _form_page(request, form, {"title": "New agent"}, expected=0)


@require_http_methods(["GET", "POST"])
def agent_edit(request: HttpRequest, name: str) -> HttpResponse:
    version = agent_version_get(name)
    form = AgentForm(request.POST or None, initial=agent_initial(version.spec, version.number), named=True)
    return _form_page(request, form, {"title": f"Edit {name}", "agent": version.agent, "version": version})


def _form_page(
    request: HttpRequest, form: AgentForm, context: dict[str, object], expected: int | None = None
) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        started = form.cleaned_data["expected"] if expected is None else expected
        try:
            saved = agent_save(
                form.text(), message=form.cleaned_data["message"], author=author_of(request), expected=started
            )
        except InvalidDocument as error:
            form.add_problems(error.problems)
        except AgentConflict as error:
            if started == 0:
                form.add_error("name", f"There is an agent {error.newer.agent.name} already. Choose another name.")
            else:
                context["conflict"] = error
        else:
            unchanged = saved.number == started
            words = "Nothing was changed, so there is no new version." if unchanged else f"Saved {saved}."
            messages.add_message(request, messages.INFO if unchanged else messages.SUCCESS, words)
            return redirect(saved.agent)
    return render(request, "catalog/agent_form.html", {"form": form, **context})
