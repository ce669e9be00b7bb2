"""What a run's model is built from, and that the initial model stays what it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from fl_config.options import options
from fl_models.loading import Source
from fl_models.spec import build_model, flat_model, initial_state, model_spec

DATA = SimpleNamespace(shape=(1, 8, 8), num_classes=4, kind="image", vocabulary=0)


def test_auto_is_resolved_and_a_name_is_kept() -> None:
    config = options({"dataset": "fashion-mnist", "seed": 5})
    assert model_spec(config, DATA, 0).name == "lenet"
    spec = model_spec(options({"model": "mlp:6", "seed": 5}), DATA, 3)
    assert (spec.name, spec.num_classes, spec.projection, spec.seed) == ("mlp:6", 4, 3, 5)
    assert build_model(spec).projection is not None


def test_training_the_model_of_the_process_leaves_the_initial_state_alone() -> None:
    spec = model_spec(options({"model": "linear", "seed": 5}), DATA, 0)
    flat = flat_model(spec, "cpu")
    flat.theta.add_(1.0)
    assert flat_model(spec, "cpu") is flat
    for name, value in build_model(spec).state_dict().items():
        assert np.array_equal(initial_state(spec)[name], value.numpy())
    other = initial_state(replace(spec, seed=6))
    assert not np.array_equal(other["head.weight"], initial_state(spec)["head.weight"])


def test_a_specification_holds_the_text(net: str) -> None:
    data = SimpleNamespace(shape=(3, 8, 8), num_classes=5, kind="image", vocabulary=0)
    text = Path("my_net.py").read_text()
    spec = model_spec(options({"model": net, "seed": 4}), data, 0)
    assert spec.source == Source.of("my_net.py", text)
    Path("my_net.py").write_text("raise ValueError")
    assert build_model(spec).has_head
    assert flat_model(spec, "cpu") is flat_model(spec, "cpu")
    assert initial_state(spec).keys() == build_model(spec).state_dict().keys()
    told = model_spec(options({"model": net}), data, 0, source=Source.of("my_net.py", text), num_outputs=2)
    assert build_model(told).head.weight.shape[0] == 2  # type: ignore[index, union-attr]
