"""Pages of long lists, with the filters kept in the links."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest


def page_of(request: HttpRequest, rows: Any, size: int, name: str = "page") -> Page[Any]:
    """The page that the address asks for; the nearest there is where it asks for none."""
    return Paginator(rows, size).get_page(request.GET.get(name))


def whole_number(text: str) -> int | None:
    """A number of a row from the address, or None for anything else; larger ones fit no database."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def query_without(request: HttpRequest, *names: str) -> str:
    """The address's query, but for the page or what is named: what a link to another page keeps."""
    query = request.GET.copy()
    for name in names or ("page",):
        query.pop(name, None)
    return query.urlencode()
