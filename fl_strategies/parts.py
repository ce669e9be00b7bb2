"""Every part that a method can be woven from, as they declare themselves where they are written (fl_config/parts.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fl_config.parts import Part, declared, lookup, read_rooms

# Where parts live. A new file in one of these folders needs no entry anywhere.
ROOMS = (
    "clients.topologies",
    "clients.objectives",
    "clients.optimizers",
    "fl_strategies.topologies",
    "fl_strategies.weighting",
    "fl_strategies.weighting.ssa",
    "fl_strategies.server_update",
)


class Parts(Mapping[str, Part]):
    """All parts by name, in the order of their slots; those of plug-ins too, from the moment they are read."""

    def _all(self) -> dict[str, Part]:
        read_rooms(ROOMS)
        return declared()

    def __getitem__(self, name: str) -> Part:
        read_rooms(ROOMS)
        return lookup(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


PARTS = Parts()
