"""What every answer passes: static files, a strict content policy, and expected failures as sentences."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from whitenoise.middleware import WhiteNoiseMiddleware

from workbench.engine.errors import WorkbenchError

GetResponse = Callable[[HttpRequest], Any]

CONTENT_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


def on_loop(middleware: Any, get_response: GetResponse) -> bool:
    """Whether what comes next runs on the event loop; then the middleware is marked as running there too."""
    if not iscoroutinefunction(get_response):
        return False
    markcoroutinefunction(middleware)
    return True


class Middleware:
    """Runs on the event loop where it can: a sync link in the chain would put every stream's request into a thread."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.on_loop = on_loop(self, get_response)


class ContentPolicy(Middleware):
    """No script, style or picture from anywhere but here, and none inside a page's text."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.on_loop:
            return self._later(request)
        return self._marked(self.get_response(request))

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        return self._marked(await self.get_response(request))

    @staticmethod
    def _marked(response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
        return response


class Sentences(Middleware):
    """An expected failure that no view caught is a page with its sentence, not a crash."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        return cast(HttpResponseBase, self.get_response(request))

    def process_view(self, request: HttpRequest, *_: object) -> None:
        """No database takes NUL: an address that holds one leads nowhere, a filter that does finds nothing."""
        if "\0" in request.path:
            raise Http404("The address holds a NUL character.")
        query = request.META.get("QUERY_STRING", "")
        if "%00" in query:
            request.GET = QueryDict(query.replace("%00", "%EF%BF%BD"))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, WorkbenchError):
            return None
        context = {"title": "That did not work", "sentence": str(exception), "error": exception}
        return render(request, "web/error.html", context, status=400)


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise on the event loop, with the small files that we have read at once."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.on_loop = on_loop(self, get_response)

    def __call__(self, request: HttpRequest) -> Any:
        if self.on_loop:
            return self._later(request)
        return super().__call__(request)

    async def _later(self, request: HttpRequest) -> Any:
        answer = super().__call__(request)
        return await answer if hasattr(answer, "__await__") else answer

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The file, its headers as WhiteNoise made them."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["content-type"]
        for name, value in found.headers:
            response[name] = value
        if found.file is not None:
            response["Content-Length"] = str(len(body))  # the file may have changed since the start
        return response
