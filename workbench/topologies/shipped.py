"""The topologies that ship, read straight from `topologies/`; no database and no Django is needed."""

from __future__ import annotations

from pathlib import Path

from workbench.catalog.shipped import ShippedCatalogue
from workbench.engine.documents import read_json
from workbench.engine.spec import TopologySpec
from workbench.engine.validation import read_shape

FOLDER = Path(__file__).resolve().parents[2] / "topologies"


class ShippedLibrary(ShippedCatalogue):
    """The agents and topologies that ship, for a home that has no database yet."""

    def topology(self, reference: str) -> TopologySpec | None:
        """The topology of that name; versions need a repository."""
        return next(
            (topology_read(path.read_text("utf-8")) for path in FOLDER.glob("*.json") if path.stem == reference), None
        )


def topology_read(text: str) -> TopologySpec | None:
    """The topology that a text holds, if its shape is right."""
    spec, _ = read_shape(read_json(text).data, TopologySpec, "topology")
    return spec if isinstance(spec, TopologySpec) else None
