"""The device that is chosen, what CUDA is told before it starts, and how memory is read; torch's view of the hardware is made up."""

from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fl_config import device
from fl_config.device import DeviceMemory, choose_device, device_memory, free_by_gpu, server_device
from fl_config.errors import ConfigError

GB = 2**30


@pytest.mark.usefixtures("pretended_cuda")
def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_device("auto").type == "cuda"
    assert choose_device("cuda").type == "cuda"
    assert choose_device("cpu").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto").type == "mps"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(ConfigError, match="'cuda'"):
        choose_device("cuda")


def told() -> tuple[Any, ...]:
    """Everything that makes CUDA give the same bits again."""
    cudnn = torch.backends.cudnn
    return (
        (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32),
        torch.are_deterministic_algorithms_enabled(),
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    )


@pytest.mark.usefixtures("pretended_cuda")
@pytest.mark.parametrize("wanted", ["auto", "cuda"])
def test_cuda_is_deterministic_whether_it_was_asked_for_or_found(wanted: str) -> None:
    before = told()
    choose_device("cpu")
    assert told() == before
    choose_device(wanted)
    assert told() == ((True, False, False, False), True, ":4096:8")
    assert not torch.is_deterministic_algorithms_warn_only_enabled()


@pytest.mark.usefixtures("pretended_cuda")
def test_a_workspace_that_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    choose_device("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


@pytest.mark.usefixtures("pretended_cuda")
def test_the_server_takes_the_emptiest_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(device, "free_by_gpu", lambda: [4 * GB, 9 * GB, 8 * GB])
    assert server_device("auto") == torch.device("cuda", 1)
    assert server_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert server_device("auto") == torch.device("cuda")


def test_free_memory_is_that_of_the_visible_gpus_in_torchs_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's command lists all GPUs of the machine, in an order of its own."""
    listed = "GPU-aa, 1000\nGPU-bb, 2000\nGPU-cc, 3000\n"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=listed))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    visible = [SimpleNamespace(uuid="cc"), SimpleNamespace(uuid="aa")]
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: visible[number])
    assert free_by_gpu() == [3000 * 2**20, 1000 * 2**20]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda number: ((number + 1) * GB, 16 * GB))
    visible[1] = SimpleNamespace(uuid="a part of bb")
    assert free_by_gpu() == [GB, 2 * GB]


def test_memory_of_a_process_that_uses_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_memory() is None
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (9 * GB, 16 * GB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 5 * GB)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda _: 6 * GB)
    assert device_memory() == DeviceMemory(free=9 * GB, total=16 * GB, held=5 * GB, peak=6 * GB)
