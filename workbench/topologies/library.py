"""Where a topology's names are looked up: agents in the catalogue, nested topologies in the repository."""

from __future__ import annotations

from workbench.catalog.services import DatabaseCatalogue
from workbench.engine.spec import TopologySpec
from workbench.topologies.gitcommand import StoreError
from workbench.topologies.selectors import stored_topology
from workbench.topologies.shipped import topology_read


class Library(DatabaseCatalogue):
    """The agents and the topologies of this workbench."""

    def topology(self, reference: str) -> TopologySpec | None:
        """The topology by `name` (its newest version) or `name@commit`; None where there is none that can be read."""
        name, _, commit = reference.partition("@")
        try:
            stored = stored_topology(name, commit or None)
        except StoreError:
            return None
        return topology_read(stored.text)
