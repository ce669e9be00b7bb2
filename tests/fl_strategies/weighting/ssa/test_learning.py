"""FedSSA's learning: the closed-form gradient against autograd, and what it finds on known logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from fl_strategies.weighting.ssa import learn_weights, ssa_loss
from fl_strategies.weighting.ssa.learning import Descent, WeightLearner, loss_parts, paired, sample_order
from tests.fl_strategies.weighting.ssa.known_logits import LEARN, random_views, skewed_views


def test_wrong_shapes_are_sentences() -> None:
    first, second = random_views(3)
    with pytest.raises(ConfigError, match=r"\[K, B, C\]"):
        ssa_loss(first, second[:, :5], torch.ones(3) / 3)
    with pytest.raises(ConfigError, match=r"\[K, B, C\]"):
        ssa_loss(first, second, torch.ones(4) / 4)
    with pytest.raises(ConfigError, match="at least 2 classes"):
        ssa_loss(first[..., :1], second[..., :1], torch.ones(3) / 3)
    with pytest.raises(ConfigError, match="of one shape"):
        learn_weights(first, second[:, :5], **LEARN)
    with pytest.raises(ConfigError, match="not finite"):
        learn_weights(first * torch.nan, second, **LEARN)
    with pytest.raises(ConfigError, match="starting weights"):
        learn_weights(first, second, init=[1.0, -1.0, 1.0], **LEARN)


def learned_by_autograd(
    first: Tensor, second: Tensor, descent: Descent, init: list[float], *, epochs: int, batch: int, seed: int
) -> Tensor:
    """The same learning, written with torch's own gradient and optimiser."""
    v = torch.tensor(init, dtype=torch.float64).log().requires_grad_()
    sgd = torch.optim.SGD(
        [v], lr=descent.lr, momentum=descent.momentum, nesterov=descent.nesterov, weight_decay=descent.weight_decay
    )
    for epoch in range(epochs):
        order = torch.from_numpy(sample_order(seed, epoch, first.shape[1]))
        for rows in torch.split(order, batch or len(order)):
            sgd.zero_grad()
            weights = torch.softmax(v, 0)
            loss = ssa_loss(
                first[:, rows],
                second[:, rows],
                weights,
                descent.lambda_var,
                descent.lambda_we,
                var_unbiased=descent.var_unbiased,
            )
            torch.autograd.backward(loss)
            sgd.step()
    return torch.softmax(v.detach(), 0)


@pytest.mark.parametrize(
    "descent",
    [
        Descent(),
        Descent(lambda_var=10, lambda_we=0.1, var_unbiased=False),
        Descent(lambda_var=0, lambda_we=0, nesterov=False),
        Descent(momentum=0, nesterov=False, weight_decay=0.02, lr=1.0),
    ],
)
@pytest.mark.parametrize("batch", [5, 0])
def test_closed_form_is_autograd(descent: Descent, batch: int) -> None:
    first, second = random_views()
    init = [0.4, 0.3, 0.2, 0.1]
    learned = learn_weights(
        first, second, lambda_var=descent.lambda_var, lambda_we=descent.lambda_we, lr=descent.lr, epochs=7,
        batch_size=batch, seed=11, momentum=descent.momentum, nesterov=descent.nesterov,
        weight_decay=descent.weight_decay, var_unbiased=descent.var_unbiased, init=init,
    )  # fmt: skip
    expected = learned_by_autograd(first, second, descent, init, epochs=7, batch=batch, seed=11)
    np.testing.assert_allclose(learned, expected.numpy(), atol=1e-12)
    assert abs(learned - init).max() > 1e-3


def test_equal_models_leave_only_the_entropy() -> None:
    first, second = random_views(1)
    same_1, same_2 = first.repeat(4, 1, 1), second.repeat(4, 1, 1)
    np.testing.assert_allclose(learn_weights(same_1, same_2, **LEARN), np.full(4, 0.25), atol=1e-15)
    start = [0.7, 0.1, 0.1, 0.1]
    without = learn_weights(same_1, same_2, **{**LEARN, "lambda_we": 0.0}, init=start)
    np.testing.assert_allclose(without, start, atol=1e-12)
    pulled = learn_weights(same_1, same_2, **{**LEARN, "lambda_we": 1.0, "epochs": 200}, init=start)
    np.testing.assert_allclose(pulled, np.full(4, 0.25), atol=1e-3)


@pytest.mark.parametrize("good", [0, 3])
def test_the_confident_and_consistent_client_dominates(good: int) -> None:
    first, second = skewed_views(good=good)
    weights = learn_weights(first, second, **LEARN)
    assert weights.argmax() == good
    assert weights[good] > 0.5
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    longer = learn_weights(first, second, **LEARN, steps_min=400)
    assert longer[good] > weights[good]


def test_the_same_seed_gives_the_same_bits() -> None:
    first, second = skewed_views()
    small = {**LEARN, "batch_size": 7}
    assert learn_weights(first, second, **small).tobytes() == learn_weights(first, second, **small).tobytes()
    assert (
        learn_weights(first, second, **small).tobytes()
        != learn_weights(first, second, **{**small, "seed": 4}).tobytes()
    )
    assert (
        learn_weights(first.numpy(), second.numpy(), **small).tobytes()
        == learn_weights(first, second, **small).tobytes()
    )


def test_banks_take_turns() -> None:
    first, second = random_views(3, seed=5)
    other_1, other_2 = random_views(3, seed=6)
    banks_1, banks_2 = torch.stack([first, other_1]), torch.stack([second, other_2])
    one = learn_weights(banks_1, banks_2, **{**LEARN, "epochs": 1})
    np.testing.assert_array_equal(one, learn_weights(first, second, **{**LEARN, "epochs": 1}))
    learner = WeightLearner(Descent(), np.zeros(3))
    for epoch, (a, b) in enumerate([(first, second), (other_1, other_2), (first, second)]):
        learner.epoch(paired(a.numpy(), b.numpy()), sample_order(3, epoch, 12), 128)
    np.testing.assert_array_equal(learn_weights(banks_1, banks_2, **{**LEARN, "epochs": 3}), learner.weights)


def test_vanishing_weights_stay_finite() -> None:
    first, second = skewed_views()
    weights = learn_weights(first * 1e4, second * 1e4, **{**LEARN, "lr": 1e4}, steps_min=500)
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)
    learner = WeightLearner(Descent(), [0.0, -2000.0])  # w_2 is 0 in double precision
    learner.epoch(paired(first[:2].numpy(), second[:2].numpy()), np.arange(200), 50)
    assert np.isfinite(learner.v).all()
    assert learner.weights.tolist() == [1.0, 0.0]


def test_log_gets_the_loss_parts_of_every_epoch() -> None:
    first, second = skewed_views()
    seen: list[tuple[int, dict[str, Any]]] = []
    weights = learn_weights(first, second, **LEARN, log=lambda epoch, parts: seen.append((epoch, parts)))
    assert [epoch for epoch, _ in seen] == list(range(10))
    total = [p["loss_cos"] + p["loss_var"] + 1e-3 * p["loss_we"] for _, p in seen]
    assert total[-1] < total[0]
    assert seen[-1][1]["weights"] == weights.tolist()
    assert total[-1] == pytest.approx(float(ssa_loss(first, second, torch.from_numpy(weights))), abs=1e-6)


def test_loss_parts_of_banks_are_means() -> None:
    first, second = random_views(3)
    bank = paired(first.numpy(), second.numpy())
    other = paired(second.numpy() * 2, second.numpy() * 2)
    weights = rng(1, "weights").dirichlet(np.ones(3))
    both, one, two = (loss_parts(banks, weights) for banks in ([bank, other], [bank], [other]))
    assert both["loss_cos"] == pytest.approx((one["loss_cos"] + two["loss_cos"]) / 2)
    assert two["loss_cos"] == pytest.approx(-1)
