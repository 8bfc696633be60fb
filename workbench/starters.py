"""What every home begins with: agents, topologies, datasets, and an experiment that waits for one click."""

from __future__ import annotations

import importlib

APPS = ("catalog", "topologies", "datasets", "experiments")  # each builds on those before it


def starters_load() -> None:
    """Add what is missing; what somebody changed stays as it is."""
    for app in APPS:
        importlib.import_module(f"workbench.{app}.services").starters_load()
