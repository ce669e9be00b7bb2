"""Everything that a run needs to go on after its last finished round."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from fl_protocol.types import ClientId, State, Vector
from fl_strategies.population.tally import Tally


def new_key() -> str:
    """By which clients tell runs apart; it lasts over resumes."""
    return secrets.token_hex(8)


@dataclass
class RunState:
    round: int  # the last finished one
    omega: Vector  # what goes out
    buffers: dict[str, NDArray[Any]]
    parts: dict[str, State] = field(default_factory=dict)  # what each part remembers, by its name
    key: str = field(default_factory=new_key)
    acked: Tally = field(default_factory=Tally)  # the last round of each client that was used
    customised: Vector | None = None  # the server's own model, where the method makes one
    client_models: dict[ClientId, Vector] = field(
        default_factory=dict
    )  # of the last round, where predicting needs them

    def of(self, part: str) -> State:
        """What a part remembers; nothing yet for one that never wrote."""
        return self.parts.get(part, {})
