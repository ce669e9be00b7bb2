"""What every client's model says about views of the server's unlabelled samples, for ssa, similarity and confidence.

Views are drawn once for all models: memory holds the views of one chunk of samples and a single model, whose
parameters are replaced client by client, and never a label (`ServerResources.unlabelled` sees to that).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fl_config.errors import ConfigError
from fl_config.seeds import rng, torch_generator
from fl_data import Samples
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.ssa.loss import COSINE_EPS

FORWARD_BATCH = 250
CHUNK_BYTES = 8 * 2**20  # of one view; the draws depend on it, so it must not depend on the number of banks
HUGE = 1e30  # sums of such logits would overflow float32

log = logging.getLogger("fedloom")

Predict = Callable[[Tensor], Tensor]


@dataclass
class ClientViews:
    """The models of a cohort, the target samples that they are asked about, and the draws of the views."""

    who: str
    cohort: Cohort
    server: ServerResources
    index: Tensor
    target: Samples

    def bank(self, *numbers: int) -> Tensor:
        """Logits [2 len(numbers), K, N, C] of two views per bank number: bank i is at 2i and 2i + 1."""
        if self.server.augment is None:
            raise ConfigError(
                f"{self.who} compares augmented views, but this data set has no augmentation: use another weighting."
            )
        draws = [
            torch_generator(self.server.seed, "ssa-views", self.cohort.round, number, view)
            for number in numbers
            for view in (1, 2)
        ]
        return self._logits(draws)

    def plain(self) -> Tensor:
        """Logits [1, K, N, C] of the samples as they are."""
        return self._logits([None])

    @torch.no_grad()
    def _logits(self, draws: Sequence[torch.Generator | None]) -> Tensor:
        # With the global model's running statistics: the replies' own are not kept apart, and near to them.
        flat = self.server.model(self.cohort.sent)
        logits: Tensor | None = None
        for rows in self._chunks():
            x, _ = self.target.batch(self.index[rows])
            views = [(x if draw is None else self._view(x, draw)).to(self.server.device) for draw in draws]
            for k, update in enumerate(self.cohort.updates):
                flat.load(self.cohort.sent + update)
                for v, view in enumerate(views):
                    answer = forward(flat.model, view).cpu()
                    if logits is None:
                        logits = torch.empty(len(draws), len(self.cohort.ids), len(self.index), answer.shape[1])
                    logits[v, k, rows] = answer
        assert logits is not None  # client_views() refuses an empty target
        return logits

    def _view(self, x: Tensor, draw: torch.Generator) -> Tensor:
        assert self.server.augment is not None
        return self.server.augment(x, draw)

    def _chunks(self) -> list[slice]:
        one, _ = self.target.batch(self.index[:1])
        size = max(1, CHUNK_BYTES // (one.numel() * one.element_size()))
        return [slice(start, start + size) for start in range(0, len(self.index), size)]


def client_views(who: str, cohort: Cohort, server: ServerResources, max_samples: int) -> ClientViews:
    """Ready to ask; a target larger than `max_samples` (0: no limit) is represented by a subset drawn each round."""
    target = server.unlabelled(who)
    count = len(target)
    if count == 0:
        raise ConfigError(f"{who} learns on the server's target data, but the target set is empty.")
    index = np.arange(count)
    if 0 < max_samples < count:
        index = np.sort(rng(server.seed, "ssa-subset", cohort.round).choice(count, max_samples, replace=False))
    place = torch.from_numpy(index).to(target.x.device)
    return ClientViews(who, cohort, server, place, target)


def forward(model: Predict, x: Tensor) -> Tensor:
    return torch.cat([model(part).float() for part in torch.split(x, FORWARD_BATCH)])


def usable_clients(logits: Tensor, who: str, cohort: Cohort) -> NDArray[np.bool_]:
    """Clients all of whose logits [V, K, N, C] are sane; the others get the weight 0, and the log says so."""
    sane = (logits.abs() < HUGE).all(dim=3).all(dim=2).all(dim=0).numpy()
    for client, ok in zip(cohort.ids, sane, strict=True):
        if not ok:
            log.warning("%s gives client %s the weight 0: its model's outputs are not finite.", who, client)
    usable: NDArray[np.bool_] = sane
    return usable


def mean_cosines(logits: Tensor) -> NDArray[np.float64]:
    """s_k = mean_x cos(softmax z_k(x^1), softmax z_k(x^2)) over all banks; logits [2M, K, N, C]."""
    y = torch.softmax(logits, dim=-1)
    cosines: NDArray[np.float64] = (
        F.cosine_similarity(y[0::2], y[1::2], dim=-1, eps=COSINE_EPS).mean(dim=(0, 2)).double().numpy()
    )
    return cosines


def mean_variances(logits: Tensor, unbiased: bool = True) -> NDArray[np.float64]:
    """c_k = mean_x var(softmax z_k(x)) over all views; logits [V, K, N, C]."""
    variances: NDArray[np.float64] = (
        torch.softmax(logits, dim=-1).var(dim=-1, correction=int(unbiased)).mean(dim=(0, 2)).double().numpy()
    )
    return variances


def over_cohort(values: NDArray[np.float64], usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values of the usable clients in the cohort's order, 0 for the others."""
    spread = np.zeros(len(usable))
    spread[usable] = values
    return spread
