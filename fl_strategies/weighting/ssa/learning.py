"""Learning FedSSA's weights on cached logits: SGD on v with w = softmax(v), by the closed-form gradient of ssa_loss.py.

    dL/dv_k = w_k (g_k - sum_j w_j g_j),   g_k = <dL/ds, z_k> + lambda_we (log w_k + 1)
The logits of both views are fixed while v moves, so a step is two small products and one softmax. NumPy and not torch:
at these sizes a step costs what its calls cost, and einsum adds in the same order for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from fl_strategies.weighting.ssa.loss import Floats, log_softmax, slope_in_logits, ssa_terms, variance_slope

EpochLog = Callable[[int, dict[str, Any]], None]


@dataclass(frozen=True)
class Descent:
    """How v is learned; the optimiser is torch's SGD with these settings."""

    lambda_var: float = 1.0
    lambda_we: float = 1e-3
    lr: float = 0.1
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 0.0
    var_unbiased: bool = True

    def direction(self, gradient: Floats, v: Floats, velocity: Floats) -> Floats:
        """What v moves against; updates the velocity in place."""
        if self.weight_decay:
            gradient = gradient + self.weight_decay * v
        velocity *= self.momentum
        velocity += gradient
        return gradient + self.momentum * velocity if self.nesterov else velocity


class WeightLearner:
    """v, its velocity, and one epoch at a time."""

    def __init__(self, descent: Descent, init: ArrayLike) -> None:
        self.descent = descent
        self.v = np.array(init, dtype=np.float64)
        self.velocity = np.zeros_like(self.v)

    @property
    def weights(self) -> NDArray[np.float64]:
        w = np.exp(log_softmax(self.v))
        return np.asarray(w / w.sum(), dtype=np.float64)

    def epoch(self, bank: Floats, order: NDArray[np.int64], batch_size: int) -> None:
        """One pass over a bank [K, N, 2C], its samples in this order; the last batch may be smaller."""
        clients, samples, width = bank.shape
        l = variance_slope(self.descent.lambda_var, width // 2, self.descent.var_unbiased)  # noqa: E741
        shuffled = bank.take(order, axis=1).reshape(clients, samples * width)
        step = (batch_size or samples) * width
        for start in range(0, samples * width, step):
            self._step(shuffled[:, start : start + step], width // 2, l)

    def _step(self, logits: Floats, classes: int, l: float) -> None:  # noqa: E741
        log_w = log_softmax(self.v)
        w = np.exp(log_w)
        mixed = np.einsum("k,km->m", w.astype(logits.dtype), logits)
        by_class = np.ascontiguousarray(mixed.reshape(-1, 2, classes).transpose(1, 2, 0))
        slope = slope_in_logits(by_class, l).transpose(2, 0, 1).ravel()
        g = np.einsum("km,m->k", logits, slope) / (slope.size // (2 * classes))
        g = g + self.descent.lambda_we * (log_w + 1.0)
        gradient = w * (g - w @ g)
        self.v -= self.descent.lr * self.descent.direction(gradient, self.v, self.velocity)


def learn_weights(
    views_1: ArrayLike | Tensor,
    views_2: ArrayLike | Tensor,
    *,
    lambda_var: float,
    lambda_we: float,
    lr: float,
    epochs: int,
    batch_size: int,
    seed: int,
    momentum: float = 0.9,
    nesterov: bool = True,
    weight_decay: float = 0.0,
    init: ArrayLike | None = None,
    var_unbiased: bool = True,
    steps_min: int = 0,
    log: EpochLog | None = None,
) -> NDArray[np.float64]:
    """w on the simplex that minimises the FedSSA loss over logits [K, N, C], or [M, K, N, C] for M banks of view pairs.

    Epoch e uses bank e mod M. `batch_size` 0 is the full batch, `init` the starting weights (None: equal), `steps_min`
    adds whole epochs until so many steps are taken, `log` is called after each epoch with the loss parts and w.
    """
    banks = [paired(first, second) for first, second in zip(_banks(views_1), _banks(views_2), strict=True)]
    clients, samples, _ = banks[0].shape
    descent = Descent(lambda_var, lambda_we, lr, momentum, nesterov, weight_decay, var_unbiased)
    learner = WeightLearner(descent, starting_logits(init, clients))
    for epoch in range(epochs_needed(epochs, samples, batch_size, steps_min)):
        learner.epoch(banks[epoch % len(banks)], sample_order(seed, epoch, samples), batch_size)
        if log is not None:
            parts = loss_parts(banks, learner.weights, var_unbiased)
            log(epoch, {**parts, "weights": learner.weights.tolist()})
    return learner.weights


def paired(views_1: Floats, views_2: Floats) -> Floats:
    """Both views of every sample side by side, [K, N, 2C]: the form that an epoch reads."""
    if views_1.shape != views_2.shape or views_1.ndim != 3 or 0 in views_1.shape:
        raise ConfigError(
            f"Both views must be logits [K, N, C] or [M, K, N, C] of one shape without empty axes, "
            f"but they are {views_1.shape} and {views_2.shape}."
        )
    if not (np.isfinite(views_1).all() and np.isfinite(views_2).all()):
        raise ConfigError("FedSSA cannot learn from logits that are not finite: leave out the clients that diverged.")
    return np.concatenate([views_1, views_2], axis=2)


def starting_logits(init: ArrayLike | None, clients: int) -> NDArray[np.float64]:
    """v with softmax(v) = init; a weight of 0 could never grow, so it starts at a hundredth of an equal share."""
    if init is None:
        return np.zeros(clients)
    start = np.asarray(init, dtype=np.float64)
    if start.shape != (clients,) or not np.isfinite(start).all() or (start < 0).any() or start.sum() <= 0:
        raise ConfigError(
            f"The starting weights must be {clients} numbers, not negative and not all 0, "
            f"but {start.tolist()} was given."
        )
    v: NDArray[np.float64] = np.log(np.maximum(start / start.sum(), 0.01 / clients))
    return v


def epochs_needed(epochs: int, samples: int, batch_size: int, steps_min: int) -> int:
    steps = -(-samples // batch_size) if batch_size else 1
    return max(epochs, -(-steps_min // steps))


def sample_order(seed: int, epoch: int, samples: int) -> NDArray[np.int64]:
    return rng(seed, "ssa-batches", epoch).permutation(samples)


def loss_parts(banks: list[Floats], weights: NDArray[np.float64], var_unbiased: bool = True) -> dict[str, float]:
    """L_cos, L_var (means over the banks) and L_we at these weights."""
    w = torch.from_numpy(weights)
    half = banks[0].shape[2] // 2
    terms = [
        ssa_terms(torch.from_numpy(bank[..., :half]), torch.from_numpy(bank[..., half:]), w, var_unbiased=var_unbiased)
        for bank in banks
    ]
    means = {name: float(torch.stack([getattr(t, name) for t in terms]).mean()) for name in ("cos", "var", "we")}
    return {"loss_cos": means["cos"], "loss_var": means["var"], "loss_we": means["we"]}


def _banks(views: ArrayLike | Tensor) -> Floats:
    """[M, K, N, C] in float32 or float64."""
    given = views.detach().cpu().numpy() if isinstance(views, Tensor) else np.asarray(views)
    if given.dtype != np.float64:
        given = given.astype(np.float32, copy=False)
    return given if given.ndim == 4 else given[None]
