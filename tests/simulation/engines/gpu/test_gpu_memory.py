"""What a worker tells of its GPU: memory as torch would say, errors for want of it in all their forms, and its tensors given back."""

from __future__ import annotations

import weakref

import pytest
import torch

from fl_config import device
from fl_config.device import DeviceMemory
from simulation.engines.gpu.gpu_memory import LARGEST_CONTEXT, Reading, ran_out_of_memory, reading

GB = 2**30


def test_a_process_without_a_gpu_tells_nothing() -> None:
    assert reading() is None
    assert reading(ValueError("wrong")) is None


def test_what_a_client_takes_is_its_peak_and_the_process_around_it() -> None:
    alone = Reading(free=9 * GB, total=16 * GB, held=6 * GB + GB // 2, peak=7 * GB)
    assert alone.context == GB // 2
    assert alone.footprint == 7 * GB + GB // 2
    assert alone.obtainable == 16 * GB
    beside_others = Reading(free=2 * GB, total=16 * GB, held=GB, peak=GB)
    assert beside_others.context == LARGEST_CONTEXT
    assert beside_others.obtainable == 4 * GB


@pytest.mark.parametrize(
    ("error", "memory"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("OutOfMemoryError: CUDA out of memory."), True),  # from the reply of another's app
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (ValueError("wrong"), False),
        (None, False),
    ],
)
def test_errors_for_want_of_memory(error: BaseException | None, memory: bool) -> None:
    assert ran_out_of_memory(error) is memory


def test_an_exhausted_gpu_gets_back_what_the_client_held(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []

    class Activations:
        pass

    def train() -> None:
        activations = Activations()
        held.append(weakref.ref(activations))
        raise torch.OutOfMemoryError("CUDA out of memory.")

    held: list[weakref.ref[Activations]] = []
    monkeypatch.setattr(device, "device_memory", lambda: DeviceMemory(GB, 16 * GB, 15 * GB, 15 * GB))
    monkeypatch.setattr(device, "release_memory", lambda: kept.append(held[0]() is not None))
    try:
        train()
    except torch.OutOfMemoryError as error:
        told = reading(error)
    assert told == Reading(GB, 16 * GB, 15 * GB, 15 * GB, exhausted=True)
    assert kept == [False]


def test_a_gpu_too_full_to_be_asked_counts_as_exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(device, "device_memory", full)
    assert reading(RuntimeError("CUDA error: out of memory")) == Reading(exhausted=True)
