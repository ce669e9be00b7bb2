"""FedDecorr against hand-computed numbers and NumPy's correlations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from clients.objectives.decorr import Decorr, DecorrParams, decorr_loss
from tests.clients.objectives.rounds import batch_of, drawn, fake_round, outputs


def test_decorr_hand_computed() -> None:
    # Columns (1,2,3), (1,3,2), (3,2,1): r = 1/2, -1, -1/2; mean r^2 = 1/2; (B-1)^2/B = 4/3.
    features = torch.tensor([[1.0, 1.0, 3.0], [2.0, 3.0, 2.0], [3.0, 2.0, 1.0]], dtype=torch.float64)
    assert decorr_loss(features).item() == pytest.approx(2 / 3, abs=1e-7)


@pytest.mark.parametrize(("batch", "width"), [(16, 5), (8, 8), (8, 15), (4, 9), (3, 30)])
def test_decorr_is_the_scaled_mean_squared_correlation(batch: int, width: int) -> None:
    features = drawn(batch, width)
    r = np.corrcoef(features.numpy(), rowvar=False)
    mean_square = np.mean(r[~np.eye(width, dtype=bool)] ** 2)
    expected = (batch - 1) ** 2 / batch * mean_square
    # The 1e-8 under the root is the rest.
    assert decorr_loss(features).item() == pytest.approx(expected, rel=1e-5)
    assert decorr_loss(features.float()).item() == pytest.approx(expected, rel=1e-4)


def test_decorr_of_one_sample_one_feature_or_dead_features_is_zero() -> None:
    for features in (drawn(1, 6), drawn(6, 1), torch.zeros(4, 20), torch.ones(20, 4)):
        leaf = features.requires_grad_()
        loss = decorr_loss(leaf)
        loss.backward()  # type: ignore[no-untyped-call]
        assert loss.item() == 0.0
        assert leaf.grad is not None
        assert not leaf.grad.any()


def test_decorr_keeps_its_digits_under_mixed_precision() -> None:
    features = drawn(8, 40).float()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = decorr_loss(features)
    assert mixed.item() == pytest.approx(decorr_loss(features).item(), rel=1e-6)


def test_decorr_objective_weighs_the_features() -> None:
    features, logits = drawn(4, 3), drawn(4, 2, seed=1)
    batch = batch_of(outputs(features, logits), [0, 1, 0, 1])
    loss = Decorr(DecorrParams(lam=0.3)).loss(fake_round([0.0], [0.0]), batch)
    assert loss is not None
    assert loss.item() == pytest.approx(0.3 * decorr_loss(features).item(), rel=1e-12)
    assert Decorr(DecorrParams(lam=0.0)).loss(fake_round([0.0], [0.0]), batch) is None
