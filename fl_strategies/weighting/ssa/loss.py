"""The self-supervised criterion of FedSSA and its closed-form gradient, without data, models or rounds.

With s^v = sum_k w_k z_k(x^v) and y^v = softmax(s^v) for the two views v of a sample (paper: see ssa.py):
    L_cos = -cos(y^1, y^2),  L_var = -(var y^1 + var y^2) / 2,  L_we = sum_k w_k log w_k
    L = mean_x [L_cos + lambda_var L_var] + lambda_we L_we
Since y sums to 1, the sample part depends on A = <y^1,y^1>, B = <y^2,y^2>, D = <y^1,y^2> only; with c = D / sqrt(AB)
and l = lambda_var / (C - 1) (unbiased variance; / C otherwise) the softmax Jacobian leaves
    dL/ds^1 = y^1 * ((c/A - l) y^1 - y^2 / sqrt(AB) + l A),   and likewise with 1 and 2, A and B exchanged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fl_config.errors import ConfigError

COSINE_EPS = 1e-6  # never active: a softmax over C classes has a norm of at least 1 / sqrt(C)

Floats = NDArray[np.floating[Any]]


class SsaTerms(NamedTuple):
    """The three parts of the loss, unweighted."""

    cos: Tensor
    var: Tensor
    we: Tensor


def ssa_terms(logits_1: Tensor, logits_2: Tensor, weights: Tensor, *, var_unbiased: bool = True) -> SsaTerms:
    """L_cos and L_var as means over the batch, and L_we; logits [K, B, C], weights [K] on the simplex."""
    if logits_1.shape != logits_2.shape or logits_1.dim() != 3 or weights.shape != logits_1.shape[:1]:
        raise ConfigError(
            f"The views must be logits [K, B, C] and the weights [K], but the shapes are {tuple(logits_1.shape)}, "
            f"{tuple(logits_2.shape)} and {tuple(weights.shape)}."
        )
    if logits_1.shape[2] < 2:
        raise ConfigError("FedSSA compares class probabilities, so it needs at least 2 classes, but there is only 1.")
    weights = weights.to(logits_1.dtype)
    y1 = torch.softmax(torch.einsum("k,kbc->bc", weights, logits_1), dim=-1)
    y2 = torch.softmax(torch.einsum("k,kbc->bc", weights, logits_2), dim=-1)
    cos = -F.cosine_similarity(y1, y2, dim=-1, eps=COSINE_EPS).mean()
    ddof = 1 if var_unbiased else 0
    var = -0.5 * (y1.var(dim=-1, correction=ddof) + y2.var(dim=-1, correction=ddof)).mean()
    # The clamp keeps both the value (0) and the slope finite where a weight is exactly 0.
    we = (weights * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()).sum()
    return SsaTerms(cos, var, we)


def ssa_loss(
    logits_1: Tensor,
    logits_2: Tensor,
    weights: Tensor,
    lambda_var: float = 1.0,
    lambda_we: float = 1e-3,
    *,
    var_unbiased: bool = True,
) -> Tensor:
    """L = mean_x [L_cos + lambda_var L_var] + lambda_we L_we for logits [K, B, C] and weights [K] on the simplex."""
    terms = ssa_terms(logits_1, logits_2, weights, var_unbiased=var_unbiased)
    return terms.cos + lambda_var * terms.var + lambda_we * terms.we


def slope_in_logits(s: Floats, l: float) -> Floats:  # noqa: E741 - the docstring's symbol
    """dL/ds of every sample for both views, s [2, C, B]; `s` is overwritten.

    Classes come before samples because sums over a leading axis are whole-row additions: four times as fast.
    """
    s -= s.max(axis=1, keepdims=True)
    y = np.exp(s, out=s)
    y /= y.sum(axis=1, keepdims=True)
    own = np.einsum("vcb,vcb->vb", y, y)
    cross = np.einsum("cb,cb->b", y[0], y[1])
    scale = 1.0 / np.sqrt(own[0] * own[1])
    slope: Floats = y * (cross * scale / own - l)[:, None]
    slope -= y[::-1] * scale
    slope += (l * own)[:, None]
    slope *= y
    return slope


def variance_slope(lambda_var: float, classes: int, unbiased: bool) -> float:
    """l of the module's docstring."""
    if classes < 2:
        raise ConfigError("FedSSA compares class probabilities, so it needs at least 2 classes, but there is only 1.")
    return lambda_var / (classes - 1 if unbiased else classes)


def log_softmax(v: Floats) -> Floats:
    """log w over the first axis, exact where w itself underflows."""
    shifted = v - v.max(axis=0)
    log_weights: Floats = shifted - np.log(np.exp(shifted).sum(axis=0))
    return log_weights
