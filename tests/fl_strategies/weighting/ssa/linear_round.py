"""One round on the server's side: linear models on feature vectors, views that add noise, one client that is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from fl_protocol.types import ClientId
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.ssa import Ssa, SsaParams

CLASSES, FEATURES = 4, 6


# A round: linear models on feature vectors, views that add noise.
@dataclass
class Vectors:
    x: Tensor
    y: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, index: Any) -> tuple[Tensor, Tensor | None]:
        return self.x[index], self.y


def jitter(x: Tensor, generator: torch.Generator) -> Tensor:
    return x + 0.3 * torch.randn(x.shape, generator=generator)


def linear_vector(weight: Tensor) -> np.ndarray[Any, Any]:
    return np.concatenate([weight.flatten().numpy(), np.zeros(CLASSES)]).astype(np.float32)


def expert() -> Tensor:
    """Reads the class off the first features: sure, and the same for both views."""
    weight = torch.zeros(CLASSES, FEATURES)
    weight[:, :CLASSES] = 6 * torch.eye(CLASSES)
    return weight


def side_of(samples: int = 60, labels: bool = False, seed: int = 5) -> ServerResources:
    label = torch.arange(samples) % CLASSES
    x = torch.zeros(samples, FEATURES)
    x[torch.arange(samples), label] = 1.0
    target = Vectors(x, label if labels else None)
    return ServerResources(
        build=cast(Any, lambda: nn.Linear(FEATURES, CLASSES)),
        seed=seed,
        device=torch.device("cpu"),
        target=cast(Any, target),
        augment=cast(Any, jitter),
    )


SENT = linear_vector(torch.zeros(CLASSES, FEATURES))


def cohort_of(ids: list[ClientId], good: ClientId = 1, population: int = 4, round: int = 1) -> Cohort:
    rows = []
    for client in ids:
        noise = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(int(client)))
        rows.append(linear_vector(expert() if client == good else noise * 0.3) - SENT)
    sizes: dict[ClientId, int] = {client: 10 * (client + 1) for client in range(population)}
    return Cohort(
        round=round,
        ids=ids,
        sizes=np.array([sizes[i] for i in ids], dtype=np.float64),
        updates=np.stack(rows),
        population=Population(sizes),
        sent=SENT,
        answers={client: {"discrepancy": 0.1 * (int(client) + 1)} for client in sizes},
    )


def ssa(**options: Any) -> Ssa:
    return Ssa(SsaParams(**options))
