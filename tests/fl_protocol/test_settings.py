"""A client's settings are the run's options of the same names."""

from __future__ import annotations

from dataclasses import asdict, fields

from fl_config.options import Options, options
from fl_protocol.settings import LocalSettings, local_settings


def test_every_setting_comes_from_its_option() -> None:
    given = {"epochs": 3, "batch-size": 7, "lr": 0.3, "momentum": 0.5, "weight-decay": 0.01, "clip": 2.0, "seed": 9}
    made = local_settings(options({**given, "augment": "crop-flip", "mixed-precision": True}))
    expected = {name.replace("-", "_"): value for name, value in given.items()}
    assert asdict(made) == {**expected, "initial_lr": 0.3, "augment": "crop-flip", "mixed_precision": True}


def test_without_options_both_have_the_same_defaults() -> None:
    assert local_settings(Options()) == LocalSettings()
    assert {field.name for field in fields(LocalSettings)} - {"initial_lr"} <= set(Options.model_fields)
