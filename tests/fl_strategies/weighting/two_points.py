"""A target of two points and models that answer it by hand, for the rule-based weights."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources


class TwoPoints:
    """x = (1, 0) and (0, 1)."""

    x = torch.eye(2)
    y: Tensor | None = None

    def __len__(self) -> int:
        return 2

    def batch(self, index: Any) -> tuple[Tensor, None]:
        return self.x[index], None


class FlipEverySecondCall:
    """View 1 is the sample, view 2 the sample with its features exchanged."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        self.calls += 1
        return x if self.calls % 2 else x.flip(1)


def side() -> ServerResources:
    return ServerResources(
        build=cast(Any, lambda: nn.Linear(2, 2, bias=False)),
        seed=0,
        device=torch.device("cpu"),
        target=cast(Any, TwoPoints()),
        augment=cast(Any, FlipEverySecondCall()),
    )


SENT = np.array([1, -2, 3, 0.5], dtype=np.float32)  # models are this plus an update


def cohort_of(*matrices: list[float]) -> Cohort:
    sizes = dict.fromkeys(range(len(matrices)), 5)
    return Cohort(
        round=1,
        ids=list(sizes),
        sizes=np.array(list(sizes.values()), dtype=np.float64),
        updates=np.array(matrices, dtype=np.float32) - SENT,
        population=Population(cast(Any, sizes)),
        sent=SENT,
    )


LOG3 = float(np.log(3))
# Logits of x = e_1: client 0 says (log 3, 0) -> (3/4, 1/4), and (0, log 3) -> (1/4, 3/4) for e_2; client 1 says
# (log 3, 0) for both, client 2 is indifferent. Row-major weights [out, in].
SWAPPED, STEADY, INDIFFERENT = [LOG3, 0.0, 0.0, LOG3], [LOG3, LOG3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]
