"""The training loop: hooks in their order, SAM's two passes, frozen teachers, frozen parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from clients.objectives import build_optimizer
from clients.objectives.base import Batch, LocalRound, Objective
from clients.training import FrozenModels, train
from fl_config.params import Params
from fl_data import Samples
from fl_models import build
from fl_models.flat import FlatModel
from fl_protocol.settings import LocalSettings
from fl_tasks.classification import evaluate

RNG = np.random.default_rng(1)
X = RNG.normal(size=(24, 5)).astype(np.float32)
Y = RNG.integers(0, 3, size=24)
SETTINGS = LocalSettings(lr=0.1, batch_size=8, seed=3)


def local_round(model: str = "linear", settings: LocalSettings = SETTINGS) -> LocalRound:
    flat = FlatModel(build(model, (5,), 3, kind="features", seed=1))
    data = Samples(X, Y)
    frozen = FrozenModels(flat, data, cached=True)
    probs = torch.bincount(torch.from_numpy(Y), minlength=3) / len(Y)
    return LocalRound(
        1,
        flat,
        flat.theta.clone(),
        data,
        probs,
        settings.lr,
        settings.lr,
        settings.epochs,
        settings.momentum,
        frozen.outputs,
    )


class Recorder(Objective):
    def __init__(self, log: list[str], every_pass: bool = False) -> None:
        super().__init__(Params())
        self.log = log
        type(self).every_pass = every_pass

    def begin_round(self, r: LocalRound) -> None:
        self.log.append("begin")

    def loss(self, r: LocalRound, batch: Batch) -> Tensor | None:
        self.log.append("loss")
        return None

    def correction(self, r: LocalRound) -> None:
        self.log.append("correction")

    def end_round(self, r: LocalRound) -> None:
        self.log.append("end")


def run(
    r: LocalRound,
    objectives: list[Objective],
    optimizer: tuple[str, dict[str, Any]] = ("sgd", {}),
    settings: LocalSettings = SETTINGS,
    **more: Any,
) -> float:
    return train(r, settings, objectives, build_optimizer(*optimizer), 0, **more)


def test_hooks_are_called_in_their_order() -> None:
    log: list[str] = []
    r = local_round()
    run(r, [Recorder(log)])
    assert log == ["begin", *["loss", "correction"] * 3, "end"]
    assert r.steps == 3


@pytest.mark.parametrize(
    ("every_pass", "step"),
    [(False, ["loss", "loss", "correction"]), (True, ["loss", "correction", "loss", "correction"])],
)
def test_sam_evaluates_losses_twice_and_drift_once(every_pass: bool, step: list[str]) -> None:
    log: list[str] = []
    run(local_round(), [Recorder(log, every_pass)], ("sam", {"rho": 0.1}))
    assert log == ["begin", *step * 3, "end"]


def test_sam_step_by_hand() -> None:
    r = local_round()
    settings = LocalSettings(lr=0.1, batch_size=0, seed=3)
    x, y, start = torch.from_numpy(X).double(), torch.from_numpy(Y), r.anchor.double()

    def gradient(theta: Tensor) -> Tensor:
        w = theta.clone().requires_grad_()
        loss = torch.nn.functional.cross_entropy(x @ w[:15].view(3, 5).T + w[15:], y)
        return torch.autograd.grad(loss, w)[0]

    g1 = gradient(start)
    g2 = gradient(start + 0.3 * g1 / (g1.norm() + 1e-7))
    run(r, [], ("sam", {"rho": 0.3}), settings)
    torch.testing.assert_close(r.flat.theta.double(), start - 0.1 * g2, atol=1e-6, rtol=0)
    mixed = local_round()
    run(mixed, [], ("speed", {"rho": 0.3, "a": 0.25}), settings)
    torch.testing.assert_close(mixed.flat.theta.double(), start - 0.1 * (0.75 * g1 + 0.25 * g2), atol=1e-6, rtol=0)


def test_sam_with_radius_zero_is_sgd() -> None:
    one, other = local_round(), local_round()
    run(one, [])
    run(other, [], ("sam", {"rho": 0.0}))
    assert torch.equal(one.flat.theta, other.flat.theta)


def test_momentum_matches_torch() -> None:
    settings = LocalSettings(lr=0.1, batch_size=0, epochs=4, momentum=0.9, weight_decay=0.01, seed=3)
    r = local_round("mlp:7", settings)
    twin = build("mlp:7", (5,), 3, kind="features", seed=1)
    optimizer = torch.optim.SGD(twin.parameters(), 0.1, momentum=0.9, weight_decay=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(twin(torch.from_numpy(X)), torch.from_numpy(Y)).backward()
        optimizer.step()
    run(r, [], settings=settings)
    np.testing.assert_allclose(r.flat.vector(), FlatModel(twin).vector(), atol=2e-6)


def test_frozen_outputs_are_those_of_the_received_model_cached_or_not() -> None:
    r = local_round("mlp:7")
    index = torch.tensor([3, 1, 20])
    x, y = r.data.batch(index)
    assert y is not None
    batch = Batch(x, y, index, r.flat.model.outputs(x))
    before = batch.outputs.logits.detach().clone()
    r.flat.theta.add_(1.0)
    for cached in (True, False):
        outputs = FrozenModels(r.flat, r.data, cached).outputs(r.anchor, batch)
        torch.testing.assert_close(outputs.logits, before, atol=1e-6, rtol=1e-5)
        assert not outputs.logits.requires_grad


def test_what_is_not_trainable_does_not_move_not_even_by_decay() -> None:
    settings = LocalSettings(lr=0.1, batch_size=8, weight_decay=0.5, momentum=0.9)
    r = local_round("mlp:7", settings)
    mask = (~r.flat.mask(["head"])).float()
    run(r, [], settings=settings, trainable=mask)
    moved = r.flat.theta != r.anchor
    assert torch.equal(r.flat.theta[mask == 0], r.anchor[mask == 0])
    assert moved[mask == 1].float().mean() > 0.9


def test_bn_statistics_are_not_touched_by_sams_second_pass() -> None:
    images = RNG.integers(0, 256, size=(12, 3, 8, 8)).astype(np.uint8)
    described = type("D", (), {"kind": "image", "mean": (0.5,) * 3, "std": (0.25,) * 3, "flips": True})()
    statistics = []
    for optimizer in (("sgd", {}), ("sam", {"rho": 0.5})):
        flat = FlatModel(build("resnet20:bn", (3, 8, 8), 3, seed=1))
        data = Samples(images, Y[:12], described)
        r = LocalRound(
            1,
            flat,
            flat.theta.clone(),
            data,
            torch.ones(3) / 3,
            0.01,
            0.01,
            1,
            0.0,
            FrozenModels(flat, data, True).outputs,
        )
        train(r, LocalSettings(lr=1e-12, batch_size=12), [], build_optimizer(*optimizer), 0)
        statistics.append({name: value.clone() for name, value in flat.model.named_buffers()})
    assert statistics[0]
    for name, value in statistics[0].items():
        torch.testing.assert_close(value, statistics[1][name], atol=1e-5, rtol=1e-4)


def test_evaluation_counts_by_class_and_says_none_for_absent_ones() -> None:
    r = local_round()
    score = evaluate(r.flat.model, Samples(X[Y != 2], Y[Y != 2]), 3)
    predicted = r.flat.model(torch.from_numpy(X)).argmax(1).numpy()
    assert score.class_accuracy[2] is None
    assert score.class_accuracy[0] == pytest.approx(float((predicted[Y == 0] == 0).mean()))
    assert score.accuracy == pytest.approx(float((predicted[Y != 2] == Y[Y != 2]).mean()))
