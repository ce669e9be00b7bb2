"""Arrays into the model and back: to the bit, in the state dict's order, and only where they fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from clients.model_arrays import arrays_of, load_arrays, trainable_mask
from fl_config.errors import ConfigError
from fl_models import build
from fl_models.flat import FlatModel
from fl_protocol.types import Arrays


def flat(seed: int = 1) -> FlatModel:
    return FlatModel(build("resnet20:bn", (3, 8, 8), 3, seed=seed))


def test_what_is_loaded_comes_back_with_parameters_and_buffers() -> None:
    received: Arrays = {name: value.numpy().copy() for name, value in flat(2).model.state_dict().items()}
    received["body.norm1.running_mean"] += 0.5
    received["body.norm1.num_batches_tracked"] = np.array(7)
    made = flat()
    load_arrays(made, received, "site")
    again = arrays_of(made)
    assert list(again) == list(made.model.state_dict())
    for name, value in received.items():
        np.testing.assert_array_equal(again[name], value, err_msg=name)
        assert again[name].dtype == value.dtype and again[name].shape == value.shape


def test_another_model_is_refused_by_the_name_of_an_array_and_changes_nothing() -> None:
    made = flat()
    before = made.vector().tobytes()
    received = arrays_of(flat(2))
    name = "head.bias"
    with pytest.raises(ConfigError, match="does not fit client site's: 'more' is on one side only"):
        load_arrays(made, {**received, "more": np.zeros(1)}, "site")
    with pytest.raises(ConfigError, match="'head.bias' is on one side only"):
        load_arrays(made, {key: value for key, value in received.items() if key != name}, "site")
    with pytest.raises(ConfigError, match=r"The server's 'head.bias' has the shape \(4,\), client site's \(3,\)"):
        load_arrays(made, {**received, name: np.zeros(4, dtype=np.float32)}, "site")
    assert made.vector().tobytes() == before


def test_the_mask_is_one_for_what_is_trained() -> None:
    made = FlatModel(build("mlp:4", (2,), 3, seed=1))
    assert made.names == ["body.fc1.weight", "body.fc1.bias", "head.weight", "head.bias"]
    mask = trainable_mask(made, ["head.weight", "head.bias"])
    assert mask is not None and mask.dtype == torch.float32
    assert made.to_canonical(mask).tolist() == [1.0] * (8 + 4) + [0.0] * (12 + 3)
    assert trainable_mask(made, []) is None
    assert trainable_mask(made, ["a buffer"]) is None  # only parameters are held still
