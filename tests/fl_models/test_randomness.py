"""Which models draw random numbers, and that their draws are seeded."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fl_config.seeds import seeded
from fl_models import build, draws_random_numbers, wrap
from fl_models.flat import FlatModel


class Hidden(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc(F.dropout(x, 0.5, self.training))
        return out


def test_who_draws_random_numbers() -> None:
    assert draws_random_numbers(wrap(Hidden())) and draws_random_numbers(Hidden())
    assert not any(draws_random_numbers(build(name, (1, 28, 28), 3)) for name in ("lenet", "vit", "mlp:5", "resnet20"))
    model = build("mlp:5", (4,), 3, kind="features")
    model.body.add_module("drop", nn.Dropout(0.1))
    assert draws_random_numbers(model)


def test_draws_inside_are_seeded_and_the_generator_outside_is_untouched() -> None:
    model = FlatModel(wrap(Hidden())).model.train()
    x = torch.ones(5, 4)
    before = torch.get_rng_state()
    outs = []
    for client in ("a", "a", "b"):
        with seeded(3, "draws of the model", 7, client):
            outs.append(model(x))
    with pytest.raises(RuntimeError), seeded(3, "draws of the model", 7, "a"):
        model(x[:, :2])
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(outs[0], outs[1]) and not torch.equal(outs[0], outs[2])
