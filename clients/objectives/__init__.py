"""What a client may minimise: one file an objective, and the table by which a message names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clients.objectives.asd import Asd
from clients.objectives.base import Batch, LocalRound, Objective
from clients.objectives.dc import Dc
from clients.objectives.decorr import Decorr
from clients.objectives.dyn import Dyn
from clients.objectives.moon import Moon
from clients.objectives.ntd import Ntd
from clients.objectives.prox import Prox
from clients.objectives.scaffold import Scaffold
from clients.objectives.speed import Speed
from clients.objectives.ssg import Ssg
from clients.objectives.vra import Vra
from clients.optimizers import Sam, Sgd
from clients.optimizers import Speed as SpeedStep
from fl_config.errors import ConfigError

OBJECTIVES: dict[str, type[Objective]] = {
    "prox": Prox,
    "moon": Moon,
    "asd": Asd,
    "ntd": Ntd,
    "decorr": Decorr,
    "dyn": Dyn,
    "scaffold": Scaffold,
    "dc": Dc,
    "ssg": Ssg,
    "vra": Vra,
    "speed": Speed,
}
OPTIMIZERS: dict[str, type[Sgd]] = {"sgd": Sgd, "sam": Sam, "speed": SpeedStep}

__all__ = ["OBJECTIVES", "OPTIMIZERS", "Batch", "LocalRound", "Objective", "build_objectives", "build_optimizer"]


def build_objectives(named: Sequence[tuple[str, dict[str, Any]]]) -> list[Objective]:
    """Objectives from what the server sent: (name, parameters) pairs."""
    built = []
    for name, values in named:
        if name not in OBJECTIVES:
            raise ConfigError(
                f"The server asks for the objective {name!r}, which this client does not have; it has {', '.join(OBJECTIVES)}."
            )
        kind = OBJECTIVES[name]
        built.append(kind(kind.Params(**values)))
    return built


def build_optimizer(name: str, values: dict[str, Any]) -> Sgd:
    if name not in OPTIMIZERS:
        raise ConfigError(
            f"The server asks for the optimiser {name!r}, which this client does not have; it has {', '.join(OPTIMIZERS)}."
        )
    kind = OPTIMIZERS[name]
    return kind(kind.Params(**values))
