"""What releases with Gaussian noise cost together: epsilon at a given delta.

`noise` is the noise multiplier z: the noise has the deviation z times the sensitivity. `rate` is the probability with which a client
is in a release, drawn anew and in secret each time (Poisson sampling); 1 claims no gain from sampling.

Without sampling T releases are one Gaussian mechanism with mu = sqrt(T) / z, whose trade-off is known exactly (Balle & Wang, "Improving
the Gaussian Mechanism for Differential Privacy", ICML 2018):
    delta(epsilon) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)
With sampling, Renyi differential privacy adds up (Mironov, Talwar & Zhang, "Renyi Differential Privacy of the Sampled Gaussian
Mechanism", 2019): with x from N(0, z^2), one release has at the order a
    r(a) = log E[(1 - q + q exp((2 x - 1) / (2 z^2)))^a] / (a - 1),
and T of them cost, for the best order (Canonne, Kamath & Steinke, NeurIPS 2020, Prop. 12),
    epsilon = T r(a) + log(1 - 1/a) - log(delta a) / (a - 1).
The expectation is a trapezoidal sum. Its integrand is analytic within pi z^2 of the real line and falls off like a Gaussian, so that
the error is beyond what a float shows. Flower's own accountant is a shell around the package dp-accounting, whose ranges do not fit
those of what we need; tests/fl_strategies/round/privacy/test_accountant.py holds this file to that package's figures.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError

ORDERS: NDArray[np.float64] = 1.0 + np.concatenate(
    [np.geomspace(0.05, 63.0, 300), [95.0, 127.0, 191.0, 255.0, 383.0, 511.0]]
)
TAILS = 12.0  # deviations on either side, beyond which a float shows nothing of a normal distribution
LEAST, MOST = 0.3, 1e6  # noise multipliers that are looked through; with less there is hardly any protection
NOTHING = 1e-7  # a noise multiplier that protects nobody, and whose cost a float cannot tell
STEPS = 60  # of a bisection, after which a float does not change any more
DIGITS = 4  # behind the point of a noise multiplier that is looked for


def epsilon(noise: float, rate: float, releases: int, delta: float) -> float:
    """What so many releases cost at this delta."""
    if not releases:
        return 0.0
    if rate >= 1.0:
        return gaussian_epsilon(math.sqrt(releases) / noise, delta)
    spent = releases * renyi(noise, rate) + np.log1p(-1.0 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1.0)
    return max(0.0, float(spent.min()))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon of a Gaussian mechanism whose sensitivity is mu deviations; rounded up."""
    from scipy.special import log_ndtr

    if mu > 1.0 / NOTHING:
        return math.inf

    def fits(given: float) -> bool:
        near, far = float(log_ndtr(mu / 2 - given / mu)), float(log_ndtr(-mu / 2 - given / mu)) + given
        return near + math.log(max(-math.expm1(far - near), 1e-300)) <= math.log(delta)

    return 0.0 if fits(0.0) else _smallest(fits, 1.0)


@functools.lru_cache(maxsize=256)
def renyi(noise: float, rate: float) -> NDArray[np.float64]:
    """r(a) of one sampled release, at each of ORDERS."""
    step = min(noise / 8.0, noise**2 / 4.0)
    return np.array([_renyi(noise, rate, float(order), step) for order in ORDERS])


def _renyi(noise: float, rate: float, order: float, step: float) -> float:
    x = np.arange(-TAILS * noise, order + TAILS * noise + step, step)
    density = -np.square(x / noise) / 2.0 - math.log(noise * math.sqrt(2.0 * math.pi))
    ratio = np.logaddexp(math.log1p(-rate), math.log(rate) + (2.0 * x - 1.0) / (2.0 * noise**2))
    terms = density + order * ratio
    largest = float(terms.max())
    return max(0.0, largest + math.log(float(np.exp(terms - largest).sum()) * step)) / (order - 1.0)


@functools.lru_cache(maxsize=16)
def noise_for(budget: float, delta: float, rate: float, releases: int) -> float:
    """The noise multiplier with which so many releases just fit into a budget, found by bisection and rounded up."""

    def fits(noise: float) -> bool:
        return epsilon(noise, rate, releases, delta) <= budget

    if not fits(MOST):
        raise ConfigError(
            f"No noise is large enough for {releases} round{'s' * (releases != 1)} within a budget of epsilon = {budget:g} at delta = {delta:g}: raise "
            "--dp-budget or --dp-delta."
        )
    found = LEAST if fits(LEAST) else _smallest(fits, LEAST, 10.0 ** -(DIGITS + 1))
    return math.ceil(found * 10.0**DIGITS) / 10.0**DIGITS


def _smallest(fits: Callable[[float], bool], start: float, exact: float = 0.0) -> float:
    """From where on numbers fit, to `exact`; the answer itself fits."""
    below, above = 0.0, start
    while not fits(above):
        below, above = above, 2.0 * above
    for _ in range(STEPS):
        if above - below <= exact:
            break
        middle = (below + above) / 2.0
        below, above = (below, middle) if fits(middle) else (middle, above)
    return above
