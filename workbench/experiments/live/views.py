"""The stream of a run, as server-sent events."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from workbench.experiments.live.hub import run_frames
from workbench.experiments.live.past import LATEST, past_of
from workbench.experiments.paging import whole_number


@require_GET
async def run_stream(request: HttpRequest, pk: int) -> HttpResponseBase:
    """What happens in a run after the event that the browser knows. A run that has ended has no stream (204: a browser
    then does not ask again)."""
    known = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    after = min(whole_number(known) or 0, LATEST)
    past = await past_of(pk, LATEST)
    if past is None:
        raise Http404("There is no such run.")
    if past.has_ended:
        return HttpResponse(status=204)
    response = StreamingHttpResponse(run_frames(pk, after), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"  # a proxy that gathers would tell everything at the end
    return response
