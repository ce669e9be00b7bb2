"""Every part that a method can be woven from, as they declare themselves where they are written (fl_config/parts.py)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

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


def parts_on_disk() -> dict[str, bool]:
    """Our own parts and whether each may stand after a +, read from the source without running it; empty where there is no source."""
    root = Path(__file__).parents[1]
    names: dict[str, bool] = {}
    for room in ROOMS:
        place = root.joinpath(*room.split("."))
        for file in sorted(place.glob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            names.update(_declared_in(file.read_text(encoding="utf-8")) if file.is_file() else ())
    return names


def _declared_in(text: str) -> Iterator[tuple[str, bool]]:
    for node in ast.parse(text).body if "@part(" in text else []:
        for call in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "part":
                others = {word.arg: ast.unparse(word.value) for word in call.keywords}
                yield ast.literal_eval(call.args[0]), others.get("plugin") != "False"
