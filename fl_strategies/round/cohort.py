"""What the server knows when it weighs and updates: the population, and this round's replying clients."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import ClientId, Matrix, Vector
from fl_strategies.round.rows import Rows
from fl_strategies.sampling import ordered


@dataclass(frozen=True)
class Population:
    """Every registered client and its number of training examples."""

    sizes: Mapping[ClientId, int]

    @property
    def count(self) -> int:
        return len(self.sizes)

    # What goes over all clients is computed once: a round must not cost more because there are many of them.

    @functools.cached_property
    def mean_size(self) -> float:
        return sum(self.sizes.values()) / max(1, len(self.sizes))

    @functools.cached_property
    def ids(self) -> Sequence[ClientId]:
        """All clients in the order of `client_order`."""
        return ordered(self.sizes)

    @functools.cached_property
    def _rows(self) -> dict[ClientId, int]:
        return {client: row for row, client in enumerate(self.ids)}

    def rows(self, clients: Sequence[ClientId]) -> NDArray[np.int64]:
        """Where clients stand in an array over all of them, whose order is that of `ids`."""
        return np.array([self._rows[client] for client in clients], dtype=np.int64)

    def relative_size(self, client: ClientId) -> float:
        """q_i = N n_i / n, mean 1 over the population."""
        return self.sizes[client] / self.mean_size

    def steps(self, epochs: int, batch_size: int) -> int:
        """K = E ceil(mean_n / B), the global step count of FedDC and FedSSG; a full batch is one step per epoch."""
        return epochs * (math.ceil(self.mean_size / batch_size) if batch_size else 1)


@dataclass
class Cohort:
    """The replies that passed the checks, in the order of `client_order`; m clients, d parameters."""

    round: int
    ids: list[ClientId]
    sizes: NDArray[np.float64]  # [m] n_i
    updates: Matrix  # [m, d] Delta_i = theta_i - omega
    population: Population
    sent: Vector = field(default_factory=lambda: np.zeros(0, dtype=np.float32))  # [d] omega, the model that went out
    extras: dict[str, Matrix] = field(default_factory=dict)  # method arrays sent up, [m, d] each
    metrics: dict[str, NDArray[np.float64]] = field(
        default_factory=dict
    )  # method numbers sent up, [m] each ("steps", ...)
    answers: Mapping[ClientId, Mapping[str, float]] = field(default_factory=dict)  # everyone's answers to the query
    sums: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)  # secure sums over this cohort, by name
    agreed: NDArray[np.float64] | None = None  # the weights, where updates were summed by them before they got here
    mean_loss: float | None = None  # by size, where the clients' own losses are not known

    @property
    def share(self) -> NDArray[np.float64]:
        """p_i = n_i / sum over this cohort."""
        share: NDArray[np.float64] = self.sizes / self.sizes.sum()
        return share

    @property
    def loss(self) -> float | None:
        """The clients' mean training loss by size, if they told it."""
        if self.mean_loss is not None or "train-loss" not in self.metrics:
            return self.mean_loss
        return float(np.dot(self.share, self.metrics["train-loss"]))


def weighted_sum(weights: NDArray[np.float64], rows: Matrix) -> NDArray[np.float64]:
    """sum_i w_i x_i in float64, row by row: the bits do not depend on a BLAS or its threads."""
    if isinstance(rows, Rows):
        return rows.weighted_sum(weights)
    gathered = Rows(rows.shape[1], limit=rows.nbytes)
    for row in rows:
        gathered.add(row)
    gathered.arranged(range(len(rows)))
    return gathered.weighted_sum(weights)


def norm(vector: NDArray[np.floating]) -> float:
    """The Euclidean norm in float64. Not NumPy's, whose BLAS threads would spin on the workers' cores long after they are done."""
    return math.sqrt(float(np.square(vector, dtype=np.float64).sum()))
