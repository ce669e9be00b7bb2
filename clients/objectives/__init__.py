"""What a client may minimise: one file per objective, which declares itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clients.objectives.base import Batch, LocalRound, Objective
from fl_config.parts import find, read_rooms

__all__ = ["Batch", "LocalRound", "Objective", "build_objectives"]


def build_objectives(named: Sequence[tuple[str, dict[str, Any]]]) -> list[Objective]:
    """Objectives from what the server sent: names and parameters."""
    read_rooms((__name__,))
    kinds = [(find(Objective.kind, name), values) for name, values in named]
    return [kind(kind.Params(**values)) for kind, values in kinds]
