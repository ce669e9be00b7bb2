"""Sample-wise FedSSA: weights learned for one sample at a time, when it is to be classified and no target set exists.

FedSSA, section 5.2 (Table 2): the criterion of ssa_loss.py on that sample's own views, from equal weights. The paper
does not say what is then predicted; here it is sum_k w_k z_k(x) of the sample as it is, without augmentation. Samples
are independent, so all of a chunk are learned at once, v being [K, B].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fl_config.errors import ConfigError
from fl_config.seeds import torch_generator
from fl_data import Augment
from fl_strategies.weighting.ssa.learning import Descent
from fl_strategies.weighting.ssa.loss import Floats, log_softmax, slope_in_logits, variance_slope
from fl_strategies.weighting.ssa.views import Predict, forward

CHUNK = 1000


@torch.no_grad()
def predict_samples(
    models: Sequence[Predict],
    x: Tensor,
    augment: Augment,
    *,
    seed: int,
    view_pairs: int = 4,
    steps: int = 100,
    lambda_var: float = 1.0,
    lambda_we: float = 1e-3,
    lr: float = 0.1,
    momentum: float = 0.9,
    nesterov: bool = True,
    weight_decay: float = 0.0,
    var_unbiased: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """(logits by the learned weights [B, C], logits of the equal ensemble [B, C], weights [B, K]) of normalised x.

    `models` are in eval mode and on x's device; the views are a function of (seed, position in x).
    """
    if not models or len(x) == 0 or view_pairs < 1:
        raise ConfigError(
            f"Sample-wise FedSSA needs at least one model, one sample and one pair of views, but got "
            f"{len(models)}, {len(x)} and {view_pairs}."
        )
    descent = Descent(lambda_var, lambda_we, lr, momentum, nesterov, weight_decay, var_unbiased)
    learned, ensemble, weights = [], [], []
    for number, part in enumerate(torch.split(x, CHUNK)):
        plain = torch.stack([forward(model, part) for model in models]).cpu()
        w = torch.from_numpy(
            _learn(_views(models, part, augment, pairs=view_pairs, seed=seed, chunk=number), descent, steps)
        )
        learned.append(torch.einsum("kb,kbc->bc", w.to(plain.dtype), plain))
        ensemble.append(plain.mean(dim=0))
        weights.append(w.T)
    return torch.cat(learned), torch.cat(ensemble), torch.cat(weights)


def _views(models: Sequence[Predict], x: Tensor, augment: Augment, *, pairs: int, seed: int, chunk: int) -> Floats:
    """Logits [K, 2, C, pairs, B] of every pair of views, samples last: the layout of `slope_in_logits`."""
    views = [
        augment(x, torch_generator(seed, "ssa-sample-views", chunk, pair, view))
        for view in (1, 2)
        for pair in range(pairs)
    ]
    logits = torch.stack([torch.stack([forward(model, view) for view in views]) for model in models]).cpu()
    clients, _, samples, classes = logits.shape
    by_class = logits.reshape(clients, 2, pairs, samples, classes).permute(0, 1, 4, 2, 3)
    return np.ascontiguousarray(by_class.numpy())


def _learn(logits: Floats, descent: Descent, steps: int) -> Floats:
    """w [K, B], each column learned on its own sample's pairs by full-batch steps."""
    clients, _, classes, pairs, samples = logits.shape
    if not np.isfinite(logits).all():
        raise ConfigError("A model's outputs are not finite: leave the model out of the prediction.")
    l = variance_slope(descent.lambda_var, classes, descent.var_unbiased)  # noqa: E741
    v = np.zeros((clients, samples))
    velocity = np.zeros_like(v)
    for _ in range(steps if clients > 1 else 0):
        log_w = log_softmax(v)
        w = np.exp(log_w)
        mixed = np.einsum("kb,kvcnb->vcnb", w.astype(logits.dtype), logits)
        slope = slope_in_logits(mixed.reshape(2, classes, pairs * samples), l).reshape(mixed.shape)
        g = np.einsum("kvcnb,vcnb->kb", logits, slope) / pairs + descent.lambda_we * (log_w + 1.0)
        v -= descent.lr * descent.direction(w * (g - (w * g).sum(axis=0)), v, velocity)
    return np.exp(log_softmax(v))
