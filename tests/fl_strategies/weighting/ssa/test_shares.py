"""The target's class shares: by hand, exact where features are one-hot, and what the residual says."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_strategies.weighting.ssa.shares import class_shares, fit_shares


def test_one_feature_and_two_classes_by_hand() -> None:
    """m = 3/4 and S = 1.1 * 3/16; optimal is 2 (q - m) / S + prior (log q/p - log (1-q)/(1-p)) = 0."""
    q = class_shares([[0.0], [1.0]], [9, 1], [[0.0], [1.0], [1.0], [1.0]], prior=0.5)
    slope = 2 * (q[1] - 0.75) / (1.1 * 0.1875) + 0.5 * (np.log(q[1] / 0.1) - np.log(q[0] / 0.9))
    assert q.sum() == pytest.approx(1, abs=1e-15)
    assert slope == pytest.approx(0, abs=1e-9)
    assert 0.1 < q[1] < 0.75


@pytest.mark.parametrize("shares", [[5, 3, 2, 0], [10, 0, 0, 0], [1, 1, 1, 7]])
def test_one_hot_features_give_the_true_shares(shares: list[int]) -> None:
    features = np.eye(4)[np.repeat(np.arange(4), shares)]
    q = class_shares(np.eye(4), [1, 2, 3, 4], features, prior=1e-9)
    np.testing.assert_allclose(q, np.array(shares) / 10, atol=1e-7)
    if min(shares):  # where the prior agrees, its weight does not matter
        np.testing.assert_allclose(
            class_shares(np.eye(4), shares, features, prior=5.0), np.array(shares) / 10, atol=1e-9
        )


def test_it_is_the_minimum() -> None:
    generator = np.random.default_rng(0)
    means, counts = generator.normal(size=(6, 9)), np.arange(1, 7)
    phi = means[generator.choice(6, size=80, p=[0.6, 0.3, 0.1, 0, 0, 0])] + 0.5 * generator.normal(size=(80, 9))
    covariance = np.cov(phi.T, bias=True)
    inverse = np.linalg.inv(covariance + 0.1 * np.trace(covariance) / 9 * np.eye(9))

    def objective(q: np.ndarray) -> float:
        miss = q @ means - phi.mean(axis=0)
        return float(miss @ inverse @ miss + 0.03 * (q * np.log(np.maximum(q, 1e-300) / (counts / 21))).sum())

    fit = fit_shares(means, counts, phi)
    best = objective(fit.shares)
    for _ in range(300):
        other = np.maximum(fit.shares * np.exp(0.1 * generator.normal(size=6)), 1e-12)
        assert objective(other / other.sum()) >= best - 1e-12
    miss = fit.shares @ means - phi.mean(axis=0)
    assert fit.residual == pytest.approx(np.sqrt(miss @ inverse @ miss), abs=1e-9)
    np.testing.assert_allclose(fit.shares, [0.6, 0.3, 0.1, 0, 0, 0], atol=0.1)


def test_classes_that_nobody_has_get_nothing_and_the_residual_tells_of_them() -> None:
    features = np.eye(3)[[0, 0, 1, 2, 2, 2]]
    whole, without = fit_shares(np.eye(3), [1, 1, 1], features), fit_shares(np.eye(3), [1, 1, 0], features)
    assert without.shares[2] == 0
    assert without.shares.sum() == pytest.approx(1)
    assert whole.residual < 0.01
    assert without.residual > 0.5
    assert class_shares([[1.0], [0.0]], [4, 0], [[1.0]]).tolist() == [1.0, 0.0]  # one class, features that do not vary


def test_noise_by_hand() -> None:
    """S = 1.1 * 3/16 and distances of 3/4, 1/4, 1/4, 1/4; q of a huge prior is n / sum n = (1/4, 3/4)."""
    fit = fit_shares([[0.0], [1.0]], [5, 15], [[0.0], [1.0], [1.0], [1.0]], prior=1e9)
    np.testing.assert_allclose(fit.shares, [0.25, 0.75], atol=1e-6)
    far, near = (9 / 16) / (1.1 * 3 / 16), (1 / 16) / (1.1 * 3 / 16)
    variation = 4 / 3 * (far / (1 - far / 3) + 3 * near / (1 - near / 3)) / 4
    assert fit.noise**2 == pytest.approx(variation * (1 / 4 + 0.25**2 / 5 + 0.75**2 / 15), abs=1e-6)
    assert fit_shares([[1.0]], [3], [[1.0], [1.0]]).noise == 0  # features that do not vary
    assert fit_shares([[1.0]], [3], [[7.0]]).noise == 0  # one sample, from which nothing is known of their spread


def test_a_small_target_is_not_taken_for_a_strange_one() -> None:
    """Forty samples in 64 dimensions leave a residual far above 1 by chance; another domain is told from them all the same."""
    generator = np.random.default_rng(3)
    centres = generator.normal(size=(3, 64))

    def drawn(classes: np.ndarray) -> np.ndarray:
        return centres[classes] + 2 * generator.normal(size=(len(classes), 64))

    labels = np.repeat(np.arange(3), 500)
    features = drawn(labels)
    means = np.stack([features[labels == c].mean(axis=0) for c in range(3)])
    fits = [fit_shares(means, [500] * 3, drawn(generator.choice(3, 40))) for _ in range(50)]
    assert min(fit.residual for fit in fits) > 1.5
    assert max(fit.excess for fit in fits) < 0.7
    moved = fit_shares(means, [500] * 3, drawn(generator.choice(3, 40)) + 1)
    assert moved.excess > 3


def test_far_classes_do_not_break_it() -> None:
    """Shares far below the smallest float, at the least prior."""
    q = class_shares([[0.0], [1.0], [1e6]], [1, 1, 1], [[0.0], [0.001]], prior=1e-9)
    assert np.isfinite(q).all()
    assert q[2] == 0
    assert q[1] == pytest.approx(0.0005, abs=1e-6)


def test_wrong_shapes_are_sentences() -> None:
    for means, counts, phi in (([[1.0]], [1, 2], [[1.0]]), ([[1.0]], [1], [[1.0, 2.0]])):
        with pytest.raises(ConfigError, match="but the shapes are"):
            class_shares(means, counts, phi)
    with pytest.raises(ConfigError, match="at least one target sample"):
        class_shares([[1.0]], [1], [[np.nan]])
    with pytest.raises(ConfigError, match="not all 0"):
        class_shares([[1.0]], [0], [[1.0]])
    with pytest.raises(ConfigError, match="above 0"):
        class_shares([[1.0]], [1], [[1.0]], prior=0)
