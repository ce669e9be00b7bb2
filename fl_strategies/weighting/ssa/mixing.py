"""Weights with which the mixed model predicts given class shares on unlabelled samples. Ours, not the FedSSA paper's.

    ybar_w = mean_x softmax f(x; sum_k w_k theta_k),   w = softmax(v) = argmin of KL(ybar_w | q) + lambda_we sum_k w_k log w_k
Parameters are mixed and not logits: it is the model that will be served. Its gradient is one backward pass, since
    dL/dw_k = <dL/dtheta, theta_k>,   dL/dv_k = w_k (g_k - sum_j w_j g_j) with g_k = dL/dw_k + lambda_we (log w_k + 1),
and theta_k may be counted from any origin, as what all clients have in common cancels. A client that is sure of everything predicts
its own classes, so that its shares are wrong however sure it is: that is what confidence alone cannot see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from fl_models.flat import FlatModel
from fl_protocol.types import Matrix, Vector
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.weighting.ssa.learning import Descent, sample_order, starting_logits
from fl_strategies.weighting.ssa.loss import log_softmax
from fl_strategies.weighting.ssa.views import forward

Weights = NDArray[np.float64]
LEAST_SHARE = 1e-4  # a class without any share would make the divergence infinite for whoever predicts it once


@dataclass
class Mixture:
    """The model sum_k w_k (sent + update_k) in `flat`, whose parameters are overwritten, and the samples [N, ...] it is asked about."""

    flat: FlatModel
    sent: Vector
    updates: Matrix
    x: Tensor

    def load(self, weights: Weights) -> None:
        self.flat.load((self.sent + weighted_sum(weights, self.updates)).astype(np.float32))

    def slope(self, log_shares: Tensor, index: Tensor) -> Weights:
        """<dL/dtheta, update_k> of every client, L = KL(ybar | q) over these samples under the loaded model."""
        self.flat.zero_grad()
        divergence(torch.softmax(self.flat.model(self.x[index]), dim=1).mean(dim=0), log_shares).backward()  # type: ignore[no-untyped-call]
        gradient = self.flat.to_canonical(self.flat.grad).astype(np.float64)
        # Not by einsum or a BLAS, whose order of summing depends on where the numbers lie in memory.
        return np.array([(row * gradient).sum() for row in self.updates])

    @torch.no_grad()
    def loss(self, weights: Weights, log_shares: Tensor) -> float:
        """KL(ybar_w | q) over all samples."""
        self.load(weights)
        mean = torch.softmax(forward(self.flat.model, self.x).double(), dim=1).mean(dim=0)
        return float(divergence(mean, log_shares.double()))


def divergence(mean: Tensor, log_shares: Tensor) -> Tensor:
    """KL(mean | q); the clamp keeps value and slope finite where a class is never predicted."""
    return (mean * (mean.clamp_min(torch.finfo(mean.dtype).tiny).log() - log_shares)).sum()


def log_shares_of(shares: ArrayLike, device: torch.device) -> Tensor:
    """log q, with every share at least `LEAST_SHARE`."""
    q = np.maximum(np.asarray(shares, dtype=np.float64), LEAST_SHARE)
    return torch.from_numpy(np.log(q / q.sum())).float().to(device)


def entropy_term(weights: Weights) -> float:
    """sum_k w_k log w_k, 0 for a weight of 0."""
    held = weights[weights > 0]
    return float(held @ np.log(held))


def best_start(mixture: Mixture, starts: Sequence[Weights], shares: ArrayLike, lambda_we: float) -> Weights:
    """The start with the least loss; among equals, the first."""
    log_shares = log_shares_of(shares, mixture.flat.theta.device)
    losses = [mixture.loss(start, log_shares) + lambda_we * entropy_term(start) for start in starts]
    return starts[int(np.argmin(losses))]


def learn_weights_by_shares(
    mixture: Mixture,
    shares: ArrayLike,
    *,
    lambda_we: float = 1e-3,
    lr: float = 0.3,
    momentum: float = 0.9,
    nesterov: bool = True,
    weight_decay: float = 0.0,
    steps: int = 60,
    batch_size: int = 256,
    seed: int = 0,
    init: ArrayLike | None = None,
) -> Weights:
    """w on the simplex after `steps` of SGD from `init` (None: equal), on batches of the samples in an order drawn by `seed`.

    `batch_size` 0 is the full batch. Equal clients keep equal weights; one client has the weight 1.
    """
    clients, samples = len(mixture.updates), len(mixture.x)
    if clients == 1:
        return np.ones(1)
    descent = Descent(lambda_we=lambda_we, lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay)
    log_shares = log_shares_of(shares, mixture.flat.theta.device)
    v = starting_logits(init, clients)
    velocity = np.zeros_like(v)
    done = epoch = 0
    while done < steps:
        order = torch.from_numpy(sample_order(seed, epoch, samples)).to(mixture.x.device)
        for index in torch.split(order, batch_size or samples)[: steps - done]:
            log_w = log_softmax(v)
            w = np.exp(log_w)
            mixture.load(w)
            g = mixture.slope(log_shares, index) + lambda_we * (log_w + 1.0)
            v -= lr * descent.direction(w * (g - (w * g).sum()), v, velocity)
            done += 1
        epoch += 1
    w = np.exp(log_softmax(v))
    return np.asarray(w / w.sum(), dtype=np.float64)
