"""The clients' optimizers: SAM and FedSpeed's mixture by hand, momentum as torch has it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from clients.objectives.base import LocalRound
from clients.optimizers import build_optimizer
from clients.training import FrozenModels, train
from fl_data import Samples
from fl_models import build
from fl_models.flat import FlatModel
from fl_protocol.settings import LocalSettings
from tests.clients.training_round import RNG, X, Y, local_round, run


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
