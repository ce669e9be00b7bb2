"""The words that both halves share: who a client is, and what a model, a set of updates and a part's state are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ClientId = int | str
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]  # a model by the names of its state dict
State = dict[str, NDArray[Any]]  # what a part keeps between rounds


def client_order(client: ClientId) -> tuple[int, int, str]:
    """Sort key: numbered clients by number, then named ones by name."""
    return (0, client, "") if isinstance(client, int) else (1, 0, client)
