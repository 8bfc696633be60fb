"""What can be set wrongly, found before the first request; each with what to do about it."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register


@register()
def settings_check(**_: Any) -> list[CheckMessage]:
    """The home can be written to, and nothing is open to the world by mistake."""
    found: list[CheckMessage] = []
    home = settings.WORKBENCH_HOME
    if not (os.access(home, os.W_OK) and home.is_dir()):
        hint = "Make it a folder that you can write to, or set WORKBENCH_HOME to another."
        found.append(Error(f"The home {home} can’t be written to.", hint=hint, id="workbench.E001"))
    if "*" in settings.ALLOWED_HOSTS:
        hint = (
            "Name the hosts instead: a page elsewhere can otherwise reach this server through its visitors' browsers."
        )
        found.append(Warning("WORKBENCH_HOSTS allows any host name.", hint=hint, id="workbench.W001"))
    if settings.DEBUG:
        hint = "Unset WORKBENCH_DEBUG wherever strangers can see the pages: errors show settings and code."
        found.append(Warning("WORKBENCH_DEBUG is on.", hint=hint, id="workbench.W002"))
    return found
