"""The logits that FedSSA learns from in one round: cached banks of view pairs, or a new pair every epoch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fl_strategies.weighting.base import Metrics
from fl_strategies.weighting.ssa.learning import epochs_needed, paired
from fl_strategies.weighting.ssa.loss import Floats
from fl_strategies.weighting.ssa.views import (
    HUGE,
    ClientViews,
    mean_cosines,
    mean_variances,
    over_cohort,
    usable_clients,
)


@dataclass
class Evidence:
    """Banks [K, N, 2C] of the usable clients, and each client's own consistency and confidence."""

    views: ClientViews
    scale: str
    fresh: bool
    usable: NDArray[np.bool_]
    cosine: NDArray[np.float64]
    variance: NDArray[np.float64]
    divisor: Tensor
    seconds: float  # spent on views and forward passes
    banks: list[Floats] = field(default_factory=list)

    @property
    def samples(self) -> int:
        return len(self.views.index)

    def bank(self, epoch: int) -> Floats:
        """The view pairs of an epoch; fresh ones replace the last, so that memory holds one bank only."""
        if self.fresh and epoch > 0:
            started = time.perf_counter()
            logits = self.views.bank(epoch)[:, torch.from_numpy(self.usable)]
            # Judged usable on the first views; a later view that overflows must not put a NaN into the weights.
            self.banks = self._paired(logits.nan_to_num(0.0).clamp(-HUGE, HUGE))
            self.seconds += time.perf_counter() - started
        return self.banks[epoch % len(self.banks)]

    def _paired(self, logits: Tensor) -> list[Floats]:
        scaled = (logits / self.divisor[:, None, None] if self.scale == "std" else logits).numpy()
        return [paired(scaled[at], scaled[at + 1]) for at in range(0, len(scaled), 2)]

    def over_cohort(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return over_cohort(values, self.usable)

    def metrics(self) -> Metrics:
        """Why a weight was learned: mean cosine between the views and mean variance of each client's own softmax."""
        return {
            "ssa/cosine": self.over_cohort(self.cosine).tolist(),
            "ssa/variance": self.over_cohort(self.variance).tolist(),
            "ssa/seconds_forward": self.seconds,
        }


def gather(views: ClientViews, options: Any) -> Evidence | None:
    """Ask every client's model about the views; None when no client has finite outputs."""
    started = time.perf_counter()
    epochs = epochs_needed(options.epochs, len(views.index), options.batch, options.steps_min)
    logits = views.bank(*range(max(1, min(options.n_view_banks, epochs))))
    usable = usable_clients(logits, views.who, views.cohort)
    if not usable.any():
        return None
    kept = logits[:, torch.from_numpy(usable)]
    seconds = time.perf_counter() - started
    # A client whose logits do not vary has nothing to be scaled by.
    spread = kept.transpose(0, 1).flatten(1).std(dim=1)
    divisor = torch.where(spread > 0, spread, torch.ones_like(spread))
    evidence = Evidence(
        views,
        options.scale,
        options.n_view_banks == 0,
        usable,
        mean_cosines(kept),
        mean_variances(kept, options.var_unbiased),
        divisor,
        seconds,
    )
    evidence.banks = evidence._paired(kept)
    return evidence
