"""What every template may ask for."""

from __future__ import annotations

from django.http import HttpRequest

THEMES = {"auto": "Automatic", "light": "Light", "dark": "Dark"}
THEME_COOKIE = "theme"


def theme(request: HttpRequest) -> dict[str, object]:
    """The theme that this browser chose; `auto` follows the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "auto")
    return {"theme": chosen if chosen in THEMES else "auto", "themes": THEMES}
