"""What differs between configurations: only the settings that do, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.experiments.models import Configuration


class Difference(NamedTuple):
    """A setting and its value in each configuration; "–" where a configuration does not set it."""

    setting: str
    values: tuple[str, ...]


def differing_settings(configurations: Sequence[Configuration]) -> list[Difference]:
    """The settings in which the configurations are not all the same, in a stable order."""
    versions = {(one.topology, one.commit) for one in configurations}
    versioned = len(versions) > len({topology for topology, _ in versions})
    all_settings = [settings_of(configuration, versioned=versioned) for configuration in configurations]
    names = dict.fromkeys(name for settings in all_settings for name in settings)
    rows = [Difference(name, tuple(settings.get(name, "–") for settings in all_settings)) for name in names]
    return [row for row in rows if len(set(row.values)) > 1]


def settings_of(configuration: Configuration, *, versioned: bool) -> dict[str, str]:
    """Every setting of a configuration as text: topology, overrides key by key, and the version.

    The version says something only where one topology takes part in several of them.
    """
    settings = {"topology": configuration.topology}
    if versioned and configuration.commit:
        settings["version"] = configuration.commit[:8]
    flatten(configuration.overrides, "", settings)
    return settings


def flatten(value: Any, name: str, into: dict[str, str]) -> None:
    """`{"params": {"temperature": 0}}` → `params.temperature: 0`."""
    if isinstance(value, dict):
        for key, item in value.items():
            flatten(item, f"{name}.{key}" if name else str(key), into)
    else:
        into[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
