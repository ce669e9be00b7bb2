"""FedSSA: the closed-form gradient against autograd, what learning finds on known logits, and the modes of a round."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from fl_protocol.types import ClientId
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerSide
from fl_strategies.weighting.ssa import Ssa, SsaParams, learn_weights, predict_samples, ssa_loss
from fl_strategies.weighting.ssa.learning import Descent, WeightLearner, loss_parts, paired, sample_order
from fl_strategies.weighting.ssa.views import client_views

torch.set_num_threads(1)

CLASSES, FEATURES = 4, 6


def random_views(clients: int = 4, samples: int = 12, classes: int = 5, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    common = torch.randn(clients, samples, classes, generator=generator, dtype=torch.float64) * 2
    first, second = (common + torch.randn(common.shape, generator=generator, dtype=torch.float64) for _ in range(2))
    return first, second


def skewed_views(clients: int = 5, samples: int = 200, good: int = 2, seed: int = 1) -> tuple[Tensor, Tensor]:
    """One client is sure of one class in both views; the others' logits are noise that changes with the view."""
    generator = torch.Generator().manual_seed(seed)
    views = [torch.randn(clients, samples, 10, generator=generator) for _ in range(2)]
    answers = torch.nn.functional.one_hot(torch.arange(samples) % 10, 10) * 8.0
    for view in views:
        view[good] = answers
    return views[0], views[1]


LEARN: dict[str, Any] = {"lambda_var": 1.0, "lambda_we": 1e-3, "lr": 0.1, "epochs": 10, "batch_size": 128, "seed": 3}


def test_loss_by_hand() -> None:
    # One model, one sample, two classes: y1 = (3/4, 1/4), y2 = (1/2, 1/2).
    first, second = torch.tensor([[[math.log(3), 0.0]]]), torch.tensor([[[0.0, 0.0]]])
    cosine = (0.375 + 0.125) / math.sqrt((0.5625 + 0.0625) * 0.5)
    variance = (0.125 + 0.0) / 2  # var(y1) = 2 (1/4)^2 / 1
    loss = ssa_loss(first, second, torch.tensor([1.0]), lambda_var=2.0, lambda_we=0.3)
    assert float(loss) == pytest.approx(-cosine - 2 * variance, abs=1e-6)
    population = ssa_loss(first, second, torch.tensor([1.0]), lambda_var=2.0, var_unbiased=False)
    assert float(population) == pytest.approx(-cosine - variance, abs=1e-6)


def test_logits_are_mixed_before_the_softmax() -> None:
    logits = torch.tensor([[[2.0, 0.0]], [[-2.0, 0.0]]])  # opposite clients cancel: y = (1/2, 1/2), variance 0
    loss = ssa_loss(logits, logits, torch.tensor([0.5, 0.5]), lambda_var=1.0, lambda_we=1.0)
    assert float(loss) == pytest.approx(-1 - math.log(2), abs=1e-6)


def test_loss_and_slope_are_finite_at_weight_zero() -> None:
    first, second = random_views(3)
    weights = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
    loss = ssa_loss(first, second, weights)
    torch.autograd.backward(loss)
    assert weights.grad is not None
    assert torch.isfinite(weights.grad).all()
    alone = ssa_loss(first[:1], second[:1], torch.ones(1, dtype=torch.float64))
    assert float(loss.detach()) == pytest.approx(float(alone), abs=1e-12)


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


# A round: linear models on feature vectors, views that add noise.


@dataclass
class Vectors:
    x: Tensor
    y: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, index: Any) -> tuple[Tensor, Tensor | None]:
        return self.x[index], self.y


def jitter(x: Tensor, generator: torch.Generator) -> Tensor:
    return x + 0.3 * torch.randn(x.shape, generator=generator)


def linear_vector(weight: Tensor) -> np.ndarray[Any, Any]:
    return np.concatenate([weight.flatten().numpy(), np.zeros(CLASSES)]).astype(np.float32)


def expert() -> Tensor:
    """Reads the class off the first features: sure, and the same for both views."""
    weight = torch.zeros(CLASSES, FEATURES)
    weight[:, :CLASSES] = 6 * torch.eye(CLASSES)
    return weight


def side_of(samples: int = 60, labels: bool = False, seed: int = 5) -> ServerSide:
    label = torch.arange(samples) % CLASSES
    x = torch.zeros(samples, FEATURES)
    x[torch.arange(samples), label] = 1.0
    target = Vectors(x, label if labels else None)
    return ServerSide(
        build=cast(Any, lambda: nn.Linear(FEATURES, CLASSES)),
        seed=seed,
        device=torch.device("cpu"),
        target=cast(Any, target),
        augment=cast(Any, jitter),
    )


SENT = linear_vector(torch.zeros(CLASSES, FEATURES))


def cohort_of(ids: list[ClientId], good: ClientId = 1, population: int = 4, round: int = 1) -> Cohort:
    rows = []
    for client in ids:
        noise = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(int(client)))
        rows.append(linear_vector(expert() if client == good else noise * 0.3) - SENT)
    sizes: dict[ClientId, int] = {client: 10 * (client + 1) for client in range(population)}
    return Cohort(
        round=round,
        ids=ids,
        sizes=np.array([sizes[i] for i in ids], dtype=np.float64),
        updates=np.stack(rows),
        population=Population(sizes),
        answers={client: {"discrepancy": 0.1 * (int(client) + 1)} for client in sizes},
    )


def ssa(**options: Any) -> Ssa:
    return Ssa(SsaParams(**options))


def test_customise_sends_sizes_and_keeps_the_learned() -> None:
    weighting, side, cohort = ssa(), side_of(), cohort_of([0, 1, 2, 3])
    out, _ = weighting.weights(cohort, SENT, side, 1)
    np.testing.assert_allclose(out, [0.1, 0.2, 0.3, 0.4])
    own, metrics = weighting.customised(cohort, SENT, side, 1)
    assert own.argmax() == 1
    assert own.sum() == pytest.approx(1)
    assert metrics["ssa/weights"] == own.tolist()
    assert np.argmax(metrics["ssa/variance"]) == 1
    assert len(metrics["ssa/cosine"]) == 4
    assert {"ssa/loss_cos", "ssa/loss_var", "ssa/loss_we", "ssa/seconds_forward", "ssa/seconds_learn"} <= metrics.keys()
    assert metrics["ssa/loss_we"] == pytest.approx(float((own * np.log(own)).sum()), abs=1e-6)
    assert side.state == {}
    assert Ssa.needs_target
    assert weighting.needs_target
    assert weighting.asks == ()


def test_modes_say_when_the_server_forms_its_own_model() -> None:
    assert [ssa(warmup_rounds=1).customises(r, 3) for r in (1, 2, 3)] == [False, True, True]
    assert [ssa(mode="post_hoc").customises(r, 3) for r in (1, 2, 3)] == [False, False, True]
    assert not ssa(mode="every_round").customises(3, 3)
    assert not ssa(mode="sample_wise").needs_target
    assert not ssa(mode="sample_wise").customises(3, 3)


def test_every_round_sends_the_learned_after_the_warmup() -> None:
    weighting, side = ssa(mode="every_round", warmup_rounds=1, steps_min=60), side_of()
    first, _ = weighting.weights(cohort_of([0, 1, 2, 3]), SENT, side, 1)
    np.testing.assert_allclose(first, [0.1, 0.2, 0.3, 0.4])
    second, _ = weighting.weights(cohort_of([0, 1, 2, 3], round=2), SENT, side, 2)
    assert second.argmax() == 1
    assert second[1] > 0.4


def test_a_round_is_a_function_of_the_seed() -> None:
    cohort = cohort_of([0, 1, 2, 3])
    options = {"batch": 16, "max_samples": 40}
    weights = [ssa(**options).customised(cohort, SENT, side_of(), 1)[0].tobytes() for _ in range(2)]
    assert weights[0] == weights[1]
    assert ssa(**options).customised(cohort, SENT, side_of(seed=6), 1)[0].tobytes() != weights[0]


def test_views_and_subsets_are_drawn_anew_each_round() -> None:
    first, second = cohort_of([0, 1, 2, 3]), cohort_of([0, 1, 2, 3], round=2)
    everything = [client_views("FedSSA", cohort, SENT, side_of(), 0) for cohort in (first, second)]
    assert not torch.equal(everything[0].bank(0), everything[1].bank(0))
    assert torch.equal(everything[0].bank(0, 1)[2:], everything[0].bank(1))
    assert torch.equal(everything[0].plain(), everything[1].plain())
    few = [client_views("FedSSA", cohort, SENT, side_of(), 20).index for cohort in (first, first, second)]
    assert len(set(few[0].tolist())) == 20
    assert torch.equal(few[0], few[1])
    assert not torch.equal(few[0], few[2])


def test_cached_banks_and_fresh_views_agree() -> None:
    cohort = cohort_of([0, 1, 2, 3])
    fresh, _ = ssa(n_view_banks=0, epochs=4).customised(cohort, SENT, side_of(), 1)
    every_epoch, _ = ssa(n_view_banks=4, epochs=4).customised(cohort, SENT, side_of(), 1)
    np.testing.assert_array_equal(fresh, every_epoch)
    once, _ = ssa(n_view_banks=9, epochs=1).customised(cohort, SENT, side_of(), 1)
    np.testing.assert_array_equal(once, ssa(n_view_banks=0, epochs=1).customised(cohort, SENT, side_of(), 1)[0])


def test_a_round_learns_on_the_mixed_logits_of_its_models() -> None:
    """Views that change nothing make the round equal to learn_weights on logits computed here."""
    side, cohort = side_of(), cohort_of([0, 1, 3])
    side.augment = cast(Any, lambda x, generator: x)
    learned, metrics = ssa(batch=0, epochs=6).customised(cohort, SENT, side, 1)
    weights = (SENT + cohort.updates)[:, : CLASSES * FEATURES].reshape(3, CLASSES, FEATURES)
    x = cast(Any, side.target).x.numpy()
    logits = np.einsum("kcf,nf->knc", weights, x)
    expected = learn_weights(logits, logits, **{**LEARN, "epochs": 6, "batch_size": 0})
    np.testing.assert_allclose(learned, expected, atol=1e-5)
    np.testing.assert_allclose(metrics["ssa/cosine"], np.ones(3), atol=1e-6)


def test_partial_participation_and_one_client() -> None:
    partial, _ = ssa().customised(cohort_of([1, 3]), SENT, side_of(), 1)
    assert partial.shape == (2,)
    assert partial[0] > partial[1]
    alone, metrics = ssa().customised(cohort_of([3]), SENT, side_of(), 1)
    assert alone.tolist() == [1.0]
    assert metrics == {"ssa/weights": [1.0]}


def test_labels_are_refused() -> None:
    with pytest.raises(ConfigError, match="FedSSA must not see labels"):
        ssa().customised(cohort_of([0, 1]), SENT, side_of(labels=True), 1)
    bare = side_of()
    bare.target = None
    with pytest.raises(ConfigError, match="unlabelled target data"):
        ssa().customised(cohort_of([0, 1]), SENT, bare, 1)
    plain = side_of()
    plain.augment = None
    with pytest.raises(ConfigError, match="no augmentation"):
        ssa().customised(cohort_of([0, 1]), SENT, plain, 1)
    with pytest.raises(ConfigError, match="empty"):
        ssa().customised(cohort_of([0, 1]), SENT, side_of(samples=0), 1)


def test_a_diverged_client_gets_nothing(caplog: pytest.LogCaptureFixture) -> None:
    cohort = cohort_of([0, 1, 2, 3])
    cohort.updates[2] = 3e38
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        weights, metrics = ssa().customised(cohort, SENT, side_of(), 1)
    assert weights[2] == 0
    assert weights.sum() == pytest.approx(1)
    assert weights.argmax() == 1
    assert "client 2" in caplog.text
    assert metrics["ssa/variance"][2] == 0
    cohort.updates[:] = 3e38
    fallback, _ = ssa().customised(cohort, SENT, side_of(), 1)
    np.testing.assert_allclose(fallback, cohort.share)


def test_running_average_by_client() -> None:
    side, weighting = side_of(), ssa(average=0.5, batch=16)
    first, _ = weighting.customised(cohort_of([0, 1]), SENT, side, 1)
    unaveraged, _ = ssa(batch=16).customised(cohort_of([0, 1]), SENT, side_of(), 1)
    np.testing.assert_allclose(first, unaveraged, atol=1e-15)
    second, _ = weighting.customised(cohort_of([1, 2, 3], good=3, round=2), SENT, side, 2)
    raw, _ = ssa(batch=16).customised(cohort_of([1, 2, 3], good=3, round=2), SENT, side_of(), 2)
    # Client 1 has seen two rounds, 2 w in the first and 3 w in the second with evidence .25 and .5; the others one.
    mean = np.array([(0.25 * 2 * first[1] + 0.5 * 3 * raw[0]) / 0.75, 3 * raw[1], 3 * raw[2]])
    np.testing.assert_allclose(second, mean / mean.sum(), atol=1e-12)
    assert side.state["ssa/evidence"].tolist() == [0.5, 0.75, 0.5, 0.5]


def test_starting_points(caplog: pytest.LogCaptureFixture) -> None:
    cohort, still = cohort_of([0, 1, 2, 3]), {"lr": 1e-12}
    by_size, _ = ssa(init="size", **still).customised(cohort, SENT, side_of(), 1)
    np.testing.assert_allclose(by_size, [0.1, 0.2, 0.3, 0.4], atol=1e-9)
    weighting = ssa(init="disco", **still)
    assert weighting.asks == ("discrepancy",)
    by_disco, _ = weighting.customised(cohort, SENT, side_of(), 1)
    raw = np.array([0.1, 0.2, 0.3, 0.4]) - 0.5 * np.array([0.1, 0.2, 0.3, 0.4]) + 0.1
    np.testing.assert_allclose(by_disco, raw / raw.sum(), atol=1e-9)
    side = side_of()
    once, _ = ssa(warm_start=True).customised(cohort, SENT, side, 1)
    kept, _ = ssa(warm_start=True, **still).customised(cohort, SENT, side, 2)
    np.testing.assert_allclose(kept, once, atol=1e-9)
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        again, _ = ssa(warm_start=True, **still).customised(cohort_of([0, 1]), SENT, side, 3)
    np.testing.assert_allclose(again, [0.5, 0.5], atol=1e-9)
    assert "2 of 4 replied" in caplog.text


def test_scaling_makes_loud_models_equal() -> None:
    cohort = cohort_of([0, 1, 2, 3])
    cohort.updates[0] = cohort.updates[1] * 0.5
    cohort.updates[1] *= 0.1  # the same opinion, a fifth as loud
    loud, _ = ssa(lambda_var=10).customised(cohort, SENT, side_of(), 1)
    scaled, _ = ssa(lambda_var=10, scale="std").customised(cohort, SENT, side_of(), 1)
    assert loud[0] > loud[1] + 0.05
    assert scaled[0] == pytest.approx(scaled[1], abs=1e-4)


def test_options_have_ranges() -> None:
    for wrong in ({"average": 1.0}, {"mode": "always"}, {"lr": 0}, {"epochs": 0}, {"momentum": 1}, {"batch_size": 3}):
        with pytest.raises(ValidationError):
            SsaParams(**cast(Any, wrong))
    assert all(field.description for field in SsaParams.model_fields.values())


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


def test_loss_parts_of_banks_are_means() -> None:
    first, second = random_views(3)
    bank = paired(first.numpy(), second.numpy())
    other = paired(second.numpy() * 2, second.numpy() * 2)
    weights = rng(1, "weights").dirichlet(np.ones(3))
    both, one, two = (loss_parts(banks, weights) for banks in ([bank, other], [bank], [other]))
    assert both["loss_cos"] == pytest.approx((one["loss_cos"] + two["loss_cos"]) / 2)
    assert two["loss_cos"] == pytest.approx(-1)
