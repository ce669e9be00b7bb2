"""Epsilon against the figures of Google's package dp-accounting (0.6.0), which was installed apart from us for that:

python -m venv there && there/bin/pip install dp-accounting==0.6.0 && there/bin/python
>>> import dp_accounting as dp
>>> from dp_accounting import rdp, pld
>>> from dp_accounting.rdp.rdp_privacy_accountant import _compute_rdp_poisson_subsampled_gaussian as renyi
>>> release = dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(0.8))
>>> rdp.RdpAccountant().compose(release, 10).get_epsilon(1e-5), pld.PLDAccountant().compose(release, 10).get_epsilon(1e-5)
>>> renyi(0.1, 0.8, [2.0, 5.0, 32.0, 256.0])
>>> mechanism = pld.privacy_loss_mechanism.GaussianPrivacyLoss(5.0 / 100**0.5)  # whose get_delta_for_epsilon was bisected
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_strategies.round.privacy import accountant
from fl_strategies.round.privacy.accountant import epsilon, gaussian_epsilon, noise_for, renyi

# noise, rate, releases, delta: epsilon of RdpAccountant with its own orders, and of PLDAccountant, which is close to the truth
SAMPLED = [
    (1.0, 0.01, 1000, 1e-5, 2.101367, 1.828244),
    (0.8, 0.1, 10, 1e-5, 5.444104, 4.543211),
    (1.1, 0.1, 200, 1e-6, 10.316821, 9.453907),
    (2.0, 0.5, 50, 1e-5, 10.287808, 9.473594),
    (0.5, 0.02, 100, 1e-5, 11.592652, 9.693704),
    (5.0, 0.2, 300, 1e-6, 3.575944, 3.329954),
    (1.0, 0.001, 10000, 1e-7, 1.171424, 0.628074),
]
# noise, rate: Renyi divergences at the orders 2, 5, 32 and 256
RENYI = [
    (1.0, 0.01, [0.00017181342207455162, 0.00046866724216915764, 11.246275937048072, 123.37677032308648]),
    (0.8, 0.1, [0.03701379105626625, 1.0567981409748517, 22.623137968522272, 197.6883851615432]),
    (2.0, 0.5, [0.06859872438165843, 0.21160515122263296, 3.2849386205373294, 31.304134595202566]),
    (0.5, 0.02, [0.02121267194449598, 5.1099781404483435, 59.961782704074174, 508.07263572788395]),
]
# noise, releases, delta: epsilon of GaussianPrivacyLoss
UNSAMPLED = [
    (1.0, 1, 1e-5, 4.377178095681225),
    (5.0, 100, 1e-5, 9.997256146434303),
    (0.6056, 1, 1e-5, 7.914380147261453),
    (0.5, 10, 1e-6, 49.3192766606962),
    (20.0, 200, 1e-6, 3.3076007226126483),
    (3.0, 1, 1e-2, 0.5335140871111681),
]


@pytest.mark.parametrize(("noise", "rate", "releases", "delta", "expected", "truth"), SAMPLED)
def test_sampled_releases(
    noise: float, rate: float, releases: int, delta: float, expected: float, truth: float
) -> None:
    ours = epsilon(noise, rate, releases, delta)
    assert ours == pytest.approx(expected, rel=5e-3)  # the orders that are looked through differ
    assert ours > truth, "a bound below what the releases really cost"
    assert ours < epsilon(noise, 1.0, releases, delta), "sampling gains nothing"


@pytest.mark.parametrize(("noise", "rate", "expected"), RENYI)
def test_one_sampled_release(monkeypatch: pytest.MonkeyPatch, noise: float, rate: float, expected: list[float]) -> None:
    monkeypatch.setattr(accountant, "ORDERS", np.array([2.0, 5.0, 32.0, 256.0]))
    renyi.cache_clear()
    assert renyi(noise, rate) == pytest.approx(expected, rel=1e-10)
    renyi.cache_clear()


@pytest.mark.parametrize(("noise", "releases", "delta", "expected"), UNSAMPLED)
def test_releases_without_sampling(noise: float, releases: int, delta: float, expected: float) -> None:
    ours = epsilon(noise, 1.0, releases, delta)
    assert ours == pytest.approx(expected, rel=1e-9)
    mu = math.sqrt(releases) / noise
    phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
    assert phi(mu / 2 - ours / mu) - math.exp(ours) * phi(-mu / 2 - ours / mu) == pytest.approx(delta, rel=1e-6)


def test_degenerate_values() -> None:
    assert epsilon(1.0, 0.1, 0, 1e-5) == epsilon(1.0, 1.0, 0, 1e-5) == 0.0
    assert gaussian_epsilon(1e-3, 0.01) == 0.0, "so much noise costs nothing at such a delta"
    assert epsilon(1e-6, 1.0, 1, 1e-5) > 1e11 and epsilon(1e-9, 1.0, 1, 1e-5) == math.inf
    assert epsilon(1.0, 0.999999, 3, 1e-5) == pytest.approx(epsilon(1.0, 1.0, 3, 1e-5), rel=0.12)
    costs = [epsilon(1.3, rate, releases, 1e-5) for rate in (0.2, 1.0) for releases in (1, 2, 3)]
    assert costs[:3] == sorted(costs[:3]) and costs[3:] == sorted(costs[3:])


@pytest.mark.parametrize(("budget", "rate", "releases"), [(8.0, 1.0, 10), (4.0, 0.1, 50), (0.5, 0.05, 100)])
def test_the_noise_that_just_fits(budget: float, rate: float, releases: int) -> None:
    noise = noise_for(budget, 1e-5, rate, releases)
    assert epsilon(noise, rate, releases, 1e-5) <= budget < epsilon(noise - 2e-4, rate, releases, 1e-5)


def test_a_budget_that_no_noise_fits_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="No noise is large enough for 10 rounds"):
        noise_for(1e-7, 1e-12, 1.0, 10)
    assert noise_for(1e6, 1e-5, 1.0, 1) == accountant.LEAST
