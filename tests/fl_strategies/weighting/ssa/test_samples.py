"""FedSSA with weights of its own for each sample."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from fl_config.errors import ConfigError
from fl_strategies.weighting.ssa import Ssa, SsaParams, learn_weights, predict_samples
from tests.fl_strategies.weighting.ssa.known_logits import LEARN
from tests.fl_strategies.weighting.ssa.linear_round import CLASSES, FEATURES, jitter


def sample_models() -> tuple[list[Any], Tensor]:
    """Model 0 knows classes 0 and 1, model 1 knows 2 and 3; each answers the other's with faint noise of the view."""
    knows = [torch.zeros(CLASSES, FEATURES), torch.zeros(CLASSES, FEATURES)]
    for label in range(CLASSES):
        knows[label // 2][label, label] = 8.0
    x = torch.zeros(40, FEATURES)
    x[torch.arange(40), torch.arange(40) % CLASSES] = 1.0
    return [lambda x, w=w: x @ w.T for w in knows], x


def test_sample_wise_weights_follow_the_sample() -> None:
    models, x = sample_models()
    learned, ensemble, weights = predict_samples(models, x, cast(Any, jitter), seed=2)
    assert learned.shape == ensemble.shape == (40, CLASSES)
    assert weights.shape == (40, 2)
    torch.testing.assert_close(weights.sum(1), torch.ones(40, dtype=weights.dtype))
    right = (torch.arange(40) % CLASSES) // 2
    assert (weights.argmax(1) == right).all()
    plain = torch.stack([model(x) for model in models])
    torch.testing.assert_close(ensemble, plain.mean(0))
    torch.testing.assert_close(learned, torch.einsum("bk,kbc->bc", weights.float(), plain))
    again = predict_samples(models, x, cast(Any, jitter), seed=2)
    assert torch.equal(again[2], weights)
    assert not torch.equal(predict_samples(models, x, cast(Any, jitter), seed=3)[2], weights)


def test_one_sample_is_learned_as_a_target_of_its_pairs() -> None:
    """A single sample with n pairs of views is a target of n samples: the same optimiser, the full batch."""
    models, x = sample_models()
    calls: list[Tensor] = []

    def recorded(batch: Tensor, generator: torch.Generator) -> Tensor:
        calls.append(jitter(batch, generator))
        return calls[-1]

    _, _, weights = predict_samples(models, x[:1], cast(Any, recorded), seed=2, view_pairs=3, steps=25)
    logits = torch.stack([torch.cat([model(view) for view in calls]) for model in models])
    expected = learn_weights(logits[:, :3], logits[:, 3:], **{**LEARN, "epochs": 25, "batch_size": 0})
    np.testing.assert_allclose(weights[0].numpy(), expected, atol=1e-5)


def test_sample_wise_edges() -> None:
    models, x = sample_models()
    learned, ensemble, weights = predict_samples(models[:1], x, cast(Any, jitter), seed=2)
    assert torch.equal(learned, ensemble)
    assert (weights == 1).all()
    equal = predict_samples(models, x, cast(Any, jitter), seed=2, steps=0)
    torch.testing.assert_close(equal[0], equal[1])
    with pytest.raises(ConfigError, match="at least one model"):
        predict_samples([], x, cast(Any, jitter), seed=2)


def test_the_part_predicts_with_its_own_parameters() -> None:
    models, x = sample_models()
    part = Ssa(SsaParams(mode="sample_wise", lr=0.02, momentum=0.5, lambda_we=0.1))
    outputs, weights = part.predict(models, x, cast(Any, jitter), seed=2)
    own = {"lr": 0.02, "momentum": 0.5, "lambda_we": 0.1}
    expected = predict_samples(models, x, cast(Any, jitter), seed=2, **own)  # type: ignore[arg-type]
    assert torch.equal(outputs, expected[0]) and torch.equal(weights, expected[2])
    assert not torch.equal(weights, predict_samples(models, x, cast(Any, jitter), seed=2)[2])
