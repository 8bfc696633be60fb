"""The theme, and whether the server answers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from workbench.web.context import THEME_COOKIE, THEMES

YEAR = 365 * 24 * 3600
STATUSES = [
    *("draft", "queued", "running", "waiting", "stopping", "succeeded", "finished"),
    *("failed", "limit_reached", "incomplete", "stopped", "lost"),
]


@require_POST
def theme_set(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in a cookie and go back to where it was chosen."""
    response = _back(request)
    chosen = request.POST.get("theme", "auto")
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=YEAR, samesite="Lax", httponly=True)
    return response


def _back(request: HttpRequest) -> HttpResponseRedirect:
    address = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(address, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        return HttpResponseRedirect(address)
    return redirect("home")


@require_GET
def alive(request: HttpRequest) -> HttpResponse:
    """A word without database or template, for the supervisor and for load balancers."""
    return HttpResponse("alive\n", content_type="text/plain")


@require_GET
def parts(request: HttpRequest) -> HttpResponse:
    """One example of everything that pages are made of."""
    return render(request, "web/parts.html", {"statuses": STATUSES, "now": timezone.now()})
