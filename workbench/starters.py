"""What every home begins with: agents, topologies, datasets, and an experiment that waits for one click."""

from __future__ import annotations

import importlib

APPS = ("catalog", "topologies", "datasets", "experiments")  # each builds on those before it


def starters_load() -> None:
    """Add what is missing; what somebody changed stays as it is."""
    for app in APPS:
        importlib.import_module(f"workbench.{app}.services").starters_load()


def main() -> None:
    """Tables and starters, where no `workbench up` makes them: `python -m workbench.starters`."""
    import os

    import django
    from django.core.management import call_command

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    starters_load()


if __name__ == "__main__":
    main()
