"""Where a process computes: the best device there is, or the one asked for; the only place that asks torch about hardware.

A run gives the same bits again on the same type of device. CUDA does so only if it is told to, before it starts: `choose_device`
tells it wherever it chooses CUDA, whether that was asked for or found.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import Literal

import torch

from fl_config.errors import ConfigError

DeviceName = Literal["auto", "cpu", "cuda", "mps"]
# What cuBLAS may use for its sums. Without it, it picks from a pool by timing, and the order of a sum follows.
WORKSPACE = ("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes of one GPU: free for anybody, in all, held by this process's tensors now, and at most so far."""

    free: int
    total: int
    held: int
    peak: int


def choose_device(wanted: str = "auto") -> torch.device:
    """auto, cpu, cuda or mps; a sentence if the one asked for is not there."""
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    chosen = next(name for name in ("cuda", "mps", "cpu") if here[name]) if wanted == "auto" else wanted
    if not here[chosen]:
        raise ConfigError(f"The device {wanted!r} was asked for, but torch finds none here: use --device auto or cpu.")
    if chosen == "cuda":
        _make_deterministic()
    return torch.device(chosen)


def server_device(wanted: str = "auto") -> torch.device:
    """Like `choose_device`; of several GPUs the one with most free memory, as clients use them too."""
    device = choose_device(wanted)
    if device.type != "cuda" or torch.cuda.device_count() < 2:
        return device
    free = free_by_gpu()
    return torch.device("cuda", free.index(max(free)))


def device_memory(device: torch.device | None = None) -> DeviceMemory | None:
    """The memory of a GPU (None is the current one) as this process sees it; None where the process uses no GPU."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    free, total = torch.cuda.mem_get_info(device)
    return DeviceMemory(free, total, torch.cuda.memory_reserved(device), torch.cuda.max_memory_reserved(device))


def total_memory(device: torch.device) -> int:
    """Bytes of a GPU in all."""
    return int(torch.cuda.get_device_properties(device).total_memory)


def release_memory() -> None:
    """Give back to the GPU what torch keeps for later tensors; other processes on it may need it."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()


def free_by_gpu() -> list[int]:
    """Free bytes of every GPU, by torch's number.

    The driver's own command knows them without a context on every GPU, which would cost some hundred megabytes on each.
    """
    command = ["nvidia-smi", "--query-gpu=uuid,memory.free", "--format=csv,noheader,nounits"]
    numbers = range(torch.cuda.device_count())
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
        free = {uuid.strip().removeprefix("GPU-"): int(mib) * 2**20 for uuid, mib in _rows(told)}
        return [free[str(torch.cuda.get_device_properties(number).uuid)] for number in numbers]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):  # another vendor's GPUs, or a part of one
        return [torch.cuda.mem_get_info(number)[0] for number in numbers]


def _rows(text: str) -> list[list[str]]:
    return [line.split(",") for line in text.splitlines() if line.strip()]


def _make_deterministic() -> None:
    """The same bits again; an operation that cannot give them raises an error with its name instead of giving others."""
    os.environ.setdefault(*WORKSPACE)
    # The same switch as `use_deterministic_algorithms`, which loads torch's compiler too: a second or more in every worker.
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # nothing unwritten is read
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    # TF32 keeps 10 bits of a float32's 23, on some types of GPU and not on others.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
