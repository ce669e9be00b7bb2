"""The server's own resources: a model with given parameters and buffers, target data without labels."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

from fl_config.errors import ConfigError
from fl_data import Samples
from fl_models import build
from fl_models.flat import FlatModel
from fl_strategies.round.resources import ServerResources

CPU = torch.device("cpu")


def test_a_model_has_the_parameters_and_buffers_that_it_is_given() -> None:
    side = ServerResources(lambda: build("resnet20:bn", (3, 8, 8), 3, seed=1), 0, CPU)
    vector = FlatModel(build("resnet20:bn", (3, 8, 8), 3, seed=2)).vector()
    name = "body.norm1.running_mean"
    made = side.model(vector)
    np.testing.assert_array_equal(made.vector(), vector)
    assert not made.model.training
    state = dict(made.model.state_dict())
    buffers = {key: value.numpy().copy() for key, value in state.items() if key not in made.names}
    buffers[name] = np.full_like(buffers[name], 0.5)
    assert (side.with_buffers(buffers).model(vector).model.state_dict()[name] == 0.5).all()
    assert (side.model(vector).model.state_dict()[name] == 0).all()  # those of another round stay with it
    with pytest.raises(FrozenInstanceError):
        side.seed = 1  # type: ignore[misc]


def test_a_target_must_be_there_and_have_no_labels() -> None:
    x = np.zeros((2, 3), dtype=np.float32)
    side = ServerResources.nothing()
    with pytest.raises(ConfigError, match="FedSSA learns on the server's unlabelled target data"):
        side.unlabelled("FedSSA")
    side = replace(side, target=Samples(x, np.array([0, 1])))
    with pytest.raises(ConfigError, match="FedSSA must not see labels"):
        side.unlabelled("FedSSA")
    side = replace(side, target=Samples(x, None))
    assert side.unlabelled("FedSSA") is side.target
    with pytest.raises(ConfigError, match="no model of its own"):
        side.model(np.zeros(3, dtype=np.float32))
