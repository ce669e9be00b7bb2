"""How far a client's class distribution D is from a target T: the one scalar that FedDisco asks of a client.

Ye et al., "FedDisco: Federated Learning with Discrepancy-Aware Collaboration", ICML 2023, eq. (2), d = e(D, T):
    kl      sum_c D_c log(D_c / T_c), natural logarithm, 0 log 0 = 0
    l1, l2  the norms of D - T
    cosine  1 - <D, T> / (|D| |T|)
It is computed on the client's side, because a label histogram never leaves a client. The value is raw: the server
normalises KL over the clients of a round (fl_strategies/weighting/disco.py). `kl` is the same divergence of many clients at once.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fl_config.errors import ConfigError

Metric = Literal["kl", "l1", "l2", "cosine"]
Distribution = NDArray[np.float64]

GLOBAL = "global"  # the target that is the clients' joint distribution
UNITY_TOLERANCE = 1e-4  # a target typed by hand with four digits still counts as a distribution


def discrepancy(counts: ArrayLike, metric: Metric | str = "kl", target: ArrayLike | None = None) -> float:
    """d = e(counts / sum, target), at least 0; a target of None is uniform over the given classes."""
    shares = _class_shares(counts)
    goal = np.full(len(shares), 1.0 / len(shares)) if target is None else _checked_target(target, len(shares))
    if metric == "kl":
        return _finite_kl(shares, goal)
    if metric == "l1":
        return float(np.abs(shares - goal).sum())
    if metric == "l2":
        return float(np.sqrt(np.square(shares - goal).sum()))
    if metric == "cosine":
        cosine = shares @ goal / np.sqrt((shares @ shares) * (goal @ goal))
        return max(0.0, 1.0 - float(cosine))
    raise ConfigError(f"The discrepancy metric is one of {', '.join(get_args(Metric))}, but {metric!r} was given.")


def target_distribution(text: str) -> Distribution | None:
    """What a target given as an option means: `uniform` is None, a comma list is the probability of each class."""
    if text == "uniform":
        return None
    if text == GLOBAL:
        raise ConfigError("The target 'global' is known only after a secure sum over the clients' class counts.")
    try:
        given = [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"Disco's target is 'uniform', 'global' or a comma list of class probabilities, but {text!r} was given."
        ) from None
    return _checked_target(given, len(given))


def _class_shares(counts: ArrayLike) -> Distribution:
    given = np.asarray(counts, dtype=np.float64)
    if given.ndim != 1 or given.size == 0:
        raise ConfigError(f"Class counts are one number per class, but an array of shape {given.shape} was given.")
    if not np.isfinite(given).all() or (given < 0).any():
        raise ConfigError(f"Class counts are finite and not negative, but {given.tolist()} was given.")
    total = given.sum()
    if total == 0:
        raise ConfigError("All class counts are 0: a client without examples has no class distribution, leave it out.")
    shares: Distribution = given / total
    return shares


def _checked_target(target: ArrayLike, classes: int) -> Distribution:
    given = np.asarray(target, dtype=np.float64)
    if given.shape != (classes,):
        raise ConfigError(
            f"The target distribution must have one probability for each of the {classes} classes, "
            f"but its shape is {given.shape}."
        )
    if not np.isfinite(given).all() or (given < 0).any() or abs(given.sum() - 1.0) > UNITY_TOLERANCE:
        raise ConfigError(
            f"The target distribution must be probabilities with sum 1, but {given.tolist()} was given: "
            "divide it by its sum."
        )
    goal: Distribution = given / given.sum()
    return goal


def kl_terms(shares: Distribution, goal: Distribution) -> Distribution:
    """D_c log(D_c / T_c) for every class, 0 where D_c is 0; shares are [..., classes], and T is positive wherever D is."""
    ratio = np.divide(shares, goal, out=np.ones_like(shares), where=shares > 0)
    terms: Distribution = shares * np.log(ratio)
    return terms


def kl(shares: Distribution, goal: Distribution) -> Distribution:
    """KL(D || T) in nats along the last axis, at least 0: one number per distribution of `shares`."""
    divergence: Distribution = np.maximum(0.0, kl_terms(shares, goal).sum(-1))
    return divergence


def _finite_kl(shares: Distribution, goal: Distribution) -> float:
    held = shares > 0
    if (goal[held] == 0).any():
        raise ConfigError(
            "The KL discrepancy is infinite, because a client has examples of a class with target probability 0: "
            "use the metric l1, l2 or cosine, or a target that is positive everywhere."
        )
    # Only the classes that are held are summed: the order of a sum decides its last bit, and published runs depend on it.
    return max(0.0, float(kl_terms(shares, goal)[held].sum()))
