"""Everything that a run needs to go on after its last finished round."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from fl_protocol.types import ClientId, State, Vector


@dataclass
class RunState:
    round: int  # the last finished one
    omega: Vector  # what goes out
    buffers: dict[str, NDArray[Any]]
    steps: dict[str, State]  # of each server step, by part name
    weighting: State = field(default_factory=dict)
    key: str = field(
        default_factory=lambda: secrets.token_hex(8)
    )  # by which clients tell runs apart; lasts over resumes
    acked: dict[ClientId, int] = field(default_factory=dict)  # a client's last round that was used
    customised: Vector | None = None  # the server's own model, where the method makes one
    client_models: dict[ClientId, Vector] = field(
        default_factory=dict
    )  # of the last round, where predicting needs them
