"""The page of models: which providers answer, what they have, and what to do about those that don't."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from workbench.catalog.modelfacts import ProviderFacts, provider_facts
from workbench.catalog.outages import outages
from workbench.catalog.probing import providers_known, providers_probed


@require_GET
def model_list(request: HttpRequest) -> HttpResponse:
    """At once with what is remembered; the page then asks the providers by itself, or at a click."""
    htmx = bool(getattr(request, "htmx", False))
    probed = providers_probed() if htmx or "ask" in request.GET else providers_known()
    facts = sorted((provider_facts(answer) for answer in probed.values()), key=_order)
    past = outages(probed)
    context = {
        "providers": [(provider, past.get(provider.name, [])) for provider in facts],
        "asked": htmx or "ask" in request.GET,
    }
    return render(request, "catalog/_models.html" if htmx else "catalog/model_list.html", context)


def _order(facts: ProviderFacts) -> tuple[bool, str]:
    return not facts.ok, facts.name
