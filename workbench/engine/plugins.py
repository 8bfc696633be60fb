"""Finds plug-ins: one file (or folder) each, its name is the plug-in's name, nothing is registered."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from functools import cached_property
from typing import Generic, TypeVar

from workbench.engine.errors import PluginError

T = TypeVar("T")


def nearest(name: str, names: list[str]) -> str:
    """` Did you mean 'x'?` for the known name most like `name`, or nothing."""
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f" Did you mean {found[0]!r}?" if found else ""


class Nearest:
    """`nearest` among the names of one document, bounded: where thousands are misspelt the first ones get a hint."""

    MOST_COMPARED = 100_000

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._said: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._said and len(self._said) * len(self._names) <= self.MOST_COMPARED:
            self._said[name] = nearest(name, self._names)
        return self._said.get(name, "")


class Plugins(Generic[T]):
    """The plug-ins of one package: every module in it whose name has no leading underscore.

    >>> PROVIDERS.get("scripted")
    <class 'workbench.engine.providers.scripted.ScriptedProvider'>
    """

    def __init__(self, package: str, base: type[T], kind: str) -> None:
        self.package, self.base, self.kind = package, base, kind
        self._loaded: dict[str, type[T]] = {}

    @cached_property
    def _names(self) -> list[str]:
        path = importlib.import_module(self.package).__path__
        return sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_"))

    def names(self) -> list[str]:
        """The names, in order; nothing is imported for it."""
        return list(self._names)

    def get(self, name: str) -> type[T]:
        """The plug-in's class. Raises `PluginError` for a name that is not a file of the folder."""
        if name in self._loaded:
            return self._loaded[name]
        if name not in self._names:
            raise PluginError(f"There is no {self.kind} {name!r}.{nearest(name, self._names)}")
        module = importlib.import_module(f"{self.package}.{name}")
        found = [
            item
            for item in vars(module).values()
            if inspect.isclass(item)
            and issubclass(item, self.base)
            and item.__module__.startswith(module.__name__)
            and not inspect.isabstract(item)
        ]
        if len(found) != 1:
            raise PluginError(f"{module.__name__} must hold exactly one {self.base.__name__}; it holds {len(found)}.")
        self._loaded[name] = found[0]
        return found[0]
