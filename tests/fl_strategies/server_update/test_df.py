"""FedDF on tiny models: the logit average in closed form, the student against a separate loop, and its limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_config.seeds import torch_generator
from fl_data import Samples
from fl_models import Model, build
from fl_models.flat import FlatModel
from fl_models.model import SequentialBody
from fl_protocol.types import Vector
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources
from fl_strategies.server_update.base import RoundSettings
from fl_strategies.server_update.df import Df, DfParams, batches, distil, mean_logits

torch.set_num_threads(1)
FEATURES: Any = SimpleNamespace(kind="features", mean=None, std=None, flips=False)
IMAGES: Any = SimpleNamespace(kind="image", mean=(0.5,), std=(0.25,), flips=False)


def linear() -> Model:
    return build("linear", (4,), 3, kind="features")


def with_dropout() -> Model:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Model(SequentialBody({"fc": nn.Linear(4, 8), "relu": nn.ReLU(), "drop": nn.Dropout(0.5)}, width=8), 3)


def points(count: int = 20) -> Samples:
    return Samples(np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32), None, FEATURES)


def server(build_model: Callable[[], Model] = linear, target: Samples | None = None, seed: int = 1) -> ServerResources:
    return ServerResources(build_model, seed, torch.device("cpu"), target=points() if target is None else target)


def cohort(updates: np.ndarray, sent: Vector | None = None) -> Cohort:
    """Zeros went out unless something else is given."""
    m = len(updates)
    sent = np.zeros_like(updates[0]) if sent is None else sent
    return Cohort(1, list(range(m)), np.full(m, 5.0), updates, Population({i: 5 for i in range(m)}), sent)


def settings(round: int = 1) -> RoundSettings:
    return RoundSettings(round=round, rounds=9, fraction=1.0, epochs=1, batch_size=8, lr=0.1, initial_lr=0.1)


def vectors(model: Model, count: int, scale: float = 1.0) -> np.ndarray:
    size = sum(p.numel() for p in model.parameters())
    return (scale * np.random.default_rng(7).normal(size=(count, size))).astype(np.float32)


def polished(omega: Vector, updates: np.ndarray, side: ServerResources, round: int = 1, **params: Any) -> Vector:
    return Df(DfParams(**params)).polish(omega, cohort(updates), side, settings(round))


def divergence(side: ServerResources, student: Vector, targets: Tensor) -> float:
    with torch.no_grad():
        logits = side.model(student).model(points().batch(slice(None))[0])
    return F.kl_div(logits.log_softmax(1), targets.log_softmax(1), log_target=True, reduction="batchmean").item()


def test_logit_average_of_linear_models_is_the_logits_of_the_average_model() -> None:
    teachers = vectors(linear(), 3)
    mean = teachers.mean(axis=0)
    weight, bias = mean[:12].reshape(3, 4), mean[12:]
    expected = points().x.numpy() @ weight.T + bias
    np.testing.assert_allclose(mean_logits(FlatModel(linear()), teachers, points()), expected, atol=1e-5)


def test_logit_average_hand_computed() -> None:
    # Two models with the logits (1, 2, 3) and (3, 0, -1) everywhere.
    teachers = np.zeros((2, 15), dtype=np.float32)
    teachers[:, 12:] = [[1, 2, 3], [3, 0, -1]]
    assert torch.equal(mean_logits(FlatModel(linear()), teachers, points(2)), torch.tensor([[2.0, 1.0, 1.0]] * 2))


def test_the_first_step_hand_computed() -> None:
    # Adam's first step is lr along the sign of the gradient. Teacher logits (2, 0, 0) against a zero student: the first
    # class is to rise, the others to fall.
    teacher = np.zeros((1, 15), dtype=np.float32)
    teacher[0, 12] = 2.0
    after = polished(np.zeros(15, dtype=np.float32), teacher, server(), steps=1, lr=0.01)
    np.testing.assert_allclose(after[12:], [0.01, -0.01, -0.01], atol=1e-6)


@pytest.mark.parametrize(("tau", "clip"), [(1.0, 0.05), (3.0, 0.0)])
def test_the_student_equals_a_separate_loop(tau: float, clip: float) -> None:
    data, targets = points(20), torch.randn(20, 3, generator=torch.Generator().manual_seed(3)) * 3
    start, steps, lr = vectors(linear(), 1)[0], 7, 0.05
    student = FlatModel(linear())
    student.load(start)
    order = torch_generator(5, "order")
    distil(student, data, targets, steps=steps, generator=order, lr=lr, tau=tau, clip=clip, batch_size=8)

    theta, m, v = start.astype(np.float64), np.zeros(15), np.zeros(15)
    target = np.exp(targets.double().numpy() / tau)
    target /= target.sum(axis=1, keepdims=True)
    for step, index in enumerate(batches(20, 8, steps, torch_generator(5, "order"))):
        x = data.x[index].double().numpy()
        q = np.exp((x @ theta[:12].reshape(3, 4).T + theta[12:]) / tau)
        error = (q / q.sum(axis=1, keepdims=True) - target[index.numpy()]) / (tau * len(x))
        gradient = np.concatenate([(error.T @ x).reshape(-1), error.sum(axis=0)])
        norm = np.linalg.norm(gradient)
        if clip:
            assert norm > clip, "the clip must be at work in this test"
            gradient *= clip / (norm + 1e-6)
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        rate = lr * (1 + math.cos(math.pi * step / steps)) / 2
        corrected = np.sqrt(v / (1 - 0.999 ** (step + 1))) + 1e-8
        theta -= rate * m / (1 - 0.9 ** (step + 1)) / corrected
    np.testing.assert_allclose(student.vector(), theta, atol=2e-5)


def test_the_student_learns_what_the_teachers_say_together() -> None:
    side = server(lambda: build("mlp:8", (4,), 3, kind="features"))
    teachers = vectors(side.build(), 3)
    omega = teachers.mean(axis=0)
    targets = mean_logits(side.model(omega), teachers, points())
    after = polished(omega, teachers, side, steps=150, lr=0.02)
    assert after.dtype == np.float32 and after.shape == omega.shape
    assert divergence(side, after, targets) < 0.2 * divergence(side, omega, targets)


def test_teachers_are_the_sent_model_plus_the_updates() -> None:
    sent, update = vectors(linear(), 2)
    given = Df(DfParams(steps=5)).polish(sent, cohort(update[None], sent), server(), settings())
    same = Df(DfParams(steps=5)).polish(sent, cohort((sent + update)[None]), server(), settings())
    assert np.array_equal(given, same)


@pytest.mark.parametrize("build_model", [linear, with_dropout])
def test_the_result_is_a_function_of_seed_and_round(build_model: Callable[[], Model]) -> None:
    updates = vectors(build_model(), 2)
    omega = updates[0] / 2
    run = {"steps": 6, "batch_size": 8}
    first = polished(omega, updates, server(build_model), **run)
    torch.rand(5)
    assert np.array_equal(first, polished(omega, updates, server(build_model), **run))
    assert not np.array_equal(first, polished(omega, updates, server(build_model), round=2, **run))
    assert not np.array_equal(first, polished(omega, updates, server(build_model, seed=2), **run))


def test_neither_the_inputs_nor_the_global_generator_change() -> None:
    updates = vectors(with_dropout(), 2)
    omega = updates[0] / 2
    side, before = server(with_dropout), (omega.copy(), updates.copy())
    state = torch.random.get_rng_state()
    polished(omega, updates, side, steps=3)
    assert torch.equal(state, torch.random.get_rng_state())
    assert np.array_equal(omega, before[0]) and np.array_equal(updates, before[1])


def test_the_student_trains_and_the_teachers_do_not() -> None:
    modes: list[tuple[bool, bool]] = []

    class Watched(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            modes.append((self.training, torch.is_grad_enabled()))
            return super().forward(x)

    side = server(lambda: Model(SequentialBody({"fc": Watched(4, 5)}, width=5), 3))
    updates = vectors(side.build(), 2)
    polished(updates[0], updates, side, steps=3)
    assert modes == [(False, False)] * 2 + [(True, True)] * 3


def test_convolutions_come_back_in_the_order_in_which_they_were_sent() -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(6, 1, 16, 16), dtype=np.uint8)
    side = server(lambda: build("lenet", (1, 16, 16), 3), Samples(images, None, IMAGES))
    omega = side.model(FlatModel(side.build()).vector()).vector()
    after = polished(omega, vectors(side.build(), 1, scale=0.1), side, steps=2, lr=1e-5)
    assert 0 < np.abs(after - omega).max() < 3e-5


def test_batches_go_through_everything_and_leave_no_single_sample() -> None:
    drawn = list(batches(9, 4, 5, torch_generator(0, "x")))
    assert [len(index) for index in drawn] == [4, 4, 4, 4, 4]
    sizes = [len(index) for index in batches(10, 4, 4, torch_generator(0, "x"))]
    assert sizes == [4, 4, 2, 4]
    assert sorted(torch.cat(list(batches(10, 4, 3, torch_generator(0, "x")))).tolist()) == list(range(10))
    assert [len(index) for index in batches(1, 4, 2, torch_generator(0, "x"))] == [1, 1]
    assert [len(index) for index in batches(3, 1, 4, torch_generator(0, "x"))] == [1, 1, 1, 1]


def test_number_of_steps() -> None:
    assert DfParams().number_of_steps(129) == 10
    assert DfParams().number_of_steps(60_000) == 1000
    assert DfParams(steps=7).number_of_steps(60_000) == 7
    omega = vectors(linear(), 1)[0]
    assert np.array_equal(polished(omega, omega[None], server(), steps=0), omega)


def test_labels_and_missing_data_are_refused() -> None:
    omega = np.zeros(15, dtype=np.float32)
    labelled = Samples(np.zeros((2, 4), dtype=np.float32), np.array([0, 1]), FEATURES)
    with pytest.raises(ConfigError, match="FedDF must not see labels"):
        polished(omega, omega[None], server(target=labelled))
    with pytest.raises(ConfigError, match="FedDF learns on"):
        polished(omega, omega[None], ServerResources(linear, 0, torch.device("cpu")))


def test_parameters() -> None:
    assert DfParams().model_dump() == {"steps": "auto", "lr": 1e-3, "tau": 1.0, "clip": 5.0, "batch_size": 128}
    assert all(field.description for field in DfParams.model_fields.values())
    wrong: list[dict[str, Any]] = [{"steps": -1}, {"steps": "many"}, {"lr": 0}, {"tau": 0}, {"batch_size": 0}, {"x": 1}]
    for values in wrong:
        with pytest.raises(ValidationError):
            DfParams(**values)
