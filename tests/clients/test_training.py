"""The training loop: hooks in their order, frozen teachers, frozen parameters."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from clients.objectives.base import Batch, LocalRound, Objective
from clients.training import FrozenModels
from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_protocol.settings import LocalSettings
from tests.clients.training_round import local_round, run


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


class Normalised(Objective):
    """Batch normalisation of the outputs, which needs two samples."""

    def loss(self, r: LocalRound, batch: Batch) -> Tensor | None:
        normalise = torch.nn.BatchNorm1d(batch.outputs.logits.shape[1])
        out: Tensor = normalise(batch.outputs.logits).mean()
        return out


def test_a_last_batch_of_one_sample_under_batch_normalisation_says_what_to_do() -> None:
    count = len(local_round().data)
    alone = LocalSettings(lr=0.1, batch_size=count - 1)
    with pytest.raises(ConfigError, match=rf"one sample of {count} \(--batch-size {count - 1}\): choose another"):
        run(local_round(settings=alone), [Normalised(Params())], settings=alone)
