"""The options that concern GPUs, and what the clients and Ray are told of them."""

from __future__ import annotations

import pytest
import torch

from fl_config.errors import ConfigError
from fl_config.options import options
from simulation.engines.gpu.wishes import clients_device, share_of, whole_gpus


@pytest.mark.parametrize(
    ("given", "device", "share"),
    [
        ({}, "auto", "auto"),
        ({"device": "cuda"}, "cuda", "auto"),
        ({"device": "cpu"}, "cpu", 0),
        ({"device": "mps", "gpus-per-client": 0.5}, "mps", 0),
        ({"gpus-per-client": 0}, "cpu", 0),
        ({"gpus-per-client": 0.5}, "auto", 0.5),
    ],
)
def test_device_and_share(given: dict[str, object], device: str, share: object) -> None:
    config = options(given)
    assert clients_device(config) == device
    assert share_of(config) == share


def test_no_share_of_a_gpu_says_nothing_of_apples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert clients_device(options({"gpus-per-client": 0})) == "auto"


def test_cuda_without_a_gpu_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="--device is cuda, but --gpus-per-client 0"):
        clients_device(options({"device": "cuda", "gpus-per-client": 0}))


def test_flowers_engine_is_told_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert whole_gpus(options({})) == 0.0
    assert whole_gpus(options({"gpus-per-client": 0.25})) == 0.25


@pytest.mark.usefixtures("pretended_cuda")
def test_flowers_engine_gives_every_client_a_gpu() -> None:
    assert whole_gpus(options({})) == 1.0
    assert whole_gpus(options({"device": "cpu"})) == 0.0
