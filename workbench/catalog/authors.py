"""Who a change is by: the account that is signed in, or where there are no accounts the person at this computer."""

from __future__ import annotations

import getpass

from django.http import HttpRequest


def local_author() -> str:
    """The name of the person at this computer."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "local"


def author_of(request: HttpRequest) -> str:
    """The name to put under a change that this request asks for."""
    user = getattr(request, "user", None)
    return str(user.get_username()) if user is not None and user.is_authenticated else local_author()
