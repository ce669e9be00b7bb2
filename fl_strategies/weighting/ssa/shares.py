"""The class shares of unlabelled target data, from class means of features (label shift). Ours, not the FedSSA paper's.

With M_c the mean feature of class c over all clients, n_c its count, phi the features of the target's samples, F their width:
    m = mean phi,   S = Cov phi + 0.1 (tr Cov / F) I
    q = argmin over the simplex of |S^(-1/2) (sum_c q_c M_c - m)|^2 + prior KL(q | n / sum n)
The problem is convex. The prior decides where the means cannot tell classes apart, and keeps the noise of a few thousand samples from
driving rare classes to 0, which the divergence of `mixing.py` would punish most; with prior -> 0 and one-hot features, q is exactly
the target's shares. Classes that nobody has (n_c = 0) get 0. It assumes that a class looks the same at the clients and in the target:
where it does not, no mixture of the class means meets m, and the residual |S^(-1/2) (sum_c q_c M_c - m)| is large. Chance alone leaves
    noise^2 = V (1 / N + sum_c q_c^2 / n_c),   V = N / (N - 1) mean of t / (1 - t / (N - 1)),   t = (phi - m)^T S^(-1) (phi - m)
of its square, from N samples of the target and n_c of each class, taken to vary within a class as much as the target does. V is the mean
squared distance of a sample from m where S is of the other samples, so that few of them in many dimensions are not thought precise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fl_config.errors import ConfigError

Array = NDArray[np.float64]
RIDGE = 0.1
DIGITS = 12
GROWTH = 10.0  # between the priors of the path along which the solution is followed
NEAR, STEPS, HALVINGS = 1e-14, 100, 40  # NEAR: a gain that the next step, being Newton's, squares


class Fit(NamedTuple):
    """The estimated shares, how far the features that they predict are from the target's, and how much of that is chance.

    Both distances are in the standard deviations of the target's own features.
    """

    shares: Array
    residual: float
    noise: float

    @property
    def excess(self) -> float:
        """What chance does not explain of the residual: about 0 or below under label shift, however few the samples."""
        return self.residual - self.noise


def class_shares(
    class_means: ArrayLike, counts: ArrayLike, target_features: ArrayLike, prior: float = 0.03
) -> NDArray[np.float64]:
    """q [C] on the simplex from means [C, F], counts [C] and the target's features [N, F]."""
    return fit_shares(class_means, counts, target_features, prior).shares


def fit_shares(class_means: ArrayLike, counts: ArrayLike, target_features: ArrayLike, prior: float = 0.03) -> Fit:
    """The same with the residual of the fit, and its noise."""
    means, n, phi = (np.asarray(given, dtype=np.float64) for given in (class_means, counts, target_features))
    _check(means, n, phi, prior)
    known = n > 0
    factor = _spread(phi)
    # S^(-1/2) M up to a rotation, which norms do not see
    design: Array = np.linalg.solve(factor, means[known].T).astype(np.float64)
    goal: Array = np.linalg.solve(factor, phi.mean(axis=0)).astype(np.float64)
    shares = np.zeros(len(n))
    shares[known] = _solve(design, goal, n[known] / n.sum(), prior)
    miss = design @ shares[known] - goal
    noise = np.sqrt(_variation(phi, factor) * (1 / len(phi) + (shares[known] ** 2 / n[known]).sum()))
    return Fit(shares, float(np.sqrt(miss @ miss)), round(float(noise), DIGITS))


def _spread(phi: Array) -> Array:
    """The lower triangle L with L L^T = S."""
    width, centred = phi.shape[1], phi - phi.mean(axis=0)
    covariance = np.einsum("nf,ng->fg", centred, centred, optimize=True) / len(phi)
    scale = np.trace(covariance) / width
    return np.linalg.cholesky(covariance + (RIDGE * scale if scale > 0 else 1.0) * np.eye(width))


def _variation(phi: Array, factor: Array) -> float:
    """V of the equations above; 0 where there is one sample."""
    others = max(len(phi) - 1, 1)
    t = (np.linalg.solve(factor, (phi - phi.mean(axis=0)).T) ** 2).sum(axis=0)
    return float(len(phi) / others * (t / (1 - t / others)).mean())


def _solve(design: Array, goal: Array, anchor: Array, prior: float) -> Array:
    """argmin over the simplex of |design q - goal|^2 + prior KL(q | anchor), by Newton's method on u = log q.

    Optimal is 2 design^T (design q - goal) + prior (u - log anchor) = nu in every entry, which stays well scaled where q_c is far below
    the smallest float: a step solves a system whose eigenvalues are at least `prior`. From the anchor, which solves it for a large
    prior, the solution is followed down to the prior that is asked for.
    """
    if len(anchor) == 1:
        return np.ones(1)
    hessian = 2 * design.T @ design
    pull = 2 * design.T @ goal
    log_anchor = np.log(anchor)
    u = log_anchor.copy()
    level = max(prior, float(np.abs(hessian).max()), float(np.abs(pull).max()))
    while True:
        u = _newton(hessian, pull, log_anchor, level, u)
        if level <= prior:
            # Digits beyond these are the linear algebra library's: they depend on where the numbers lie in memory.
            return np.asarray(np.round(np.exp(u) / np.exp(u).sum(), DIGITS), dtype=np.float64)
        level = max(prior, level / GROWTH)


def _newton(hessian: Array, pull: Array, log_anchor: Array, prior: float, u: Array) -> Array:
    def value(u: Array) -> float:
        q = np.exp(u)
        return float(0.5 * q @ hessian @ q - pull @ q + prior * q @ (u - log_anchor))

    now = value(u)
    for _ in range(STEPS):
        q = np.exp(u)
        root = np.sqrt(q)
        slope = hessian @ q - pull + prior * (u - log_anchor)
        slope -= q @ slope
        system = hessian * np.outer(root, root) + prior * np.eye(len(u))
        free, along = np.linalg.solve(system, np.stack([-root * slope, root], axis=1)).T
        nu = -(root @ free) / (root @ along)  # so that the step keeps the sum
        move = root * (free + nu * along)  # of q
        step = (nu - slope - hessian @ move) / prior  # of u, defined where q underflows
        gain = float(slope @ move)
        if -gain <= NEAR * max(1.0, abs(now)):
            return _on_simplex(u + step)
        size = 1.0
        for _ in range(HALVINGS):
            tried = _on_simplex(u + size * step)
            then = value(tried)
            if then <= now + 1e-4 * size * gain:
                break
            size /= 2
        else:
            break  # no step is seen to gain any more: rounding has the last word
        u, now = tried, then
    return u


def _on_simplex(u: Array) -> Array:
    """u less a constant, so that exp u sums to 1."""
    shifted = u - u.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


def _check(means: Array, n: Array, phi: Array, prior: float) -> None:
    if means.ndim != 2 or phi.ndim != 2 or n.shape != means.shape[:1] or phi.shape[1:] != means.shape[1:]:
        raise ConfigError(
            f"Class shares need means [C, F], counts [C] and features [N, F], but the shapes are {means.shape}, {n.shape} and "
            f"{phi.shape}."
        )
    if len(phi) == 0 or not np.isfinite(phi).all():
        raise ConfigError("Class shares need at least one target sample, with finite features.")
    if (n < 0).any() or n.sum() <= 0 or not np.isfinite(means[n > 0]).all():
        raise ConfigError(
            "Class shares need counts that are not negative and not all 0, and finite means of the counted classes."
        )
    if prior <= 0:
        raise ConfigError(f"The weight of the prior must be above 0, but it is {prior:g}.")
