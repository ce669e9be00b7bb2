"""What a worker tells of its GPU with every answer: how much memory there is and was taken, and whether it did not suffice."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass

# How CUDA, its libraries and AMD's say that memory did not suffice; torch has a class of error for the first of them only.
COMPLAINTS = (
    *("CUDA out of memory", "CUDA error: out of memory", "HIP out of memory", "HIP error: out of memory"),
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"),
)
LARGEST_CONTEXT = 2**30  # what a process takes of a GPU beside its tensors is a few hundred megabytes


@dataclass(frozen=True)
class Reading:
    """Bytes of a GPU: free, in all, held by the worker's tensors now, and at most so far; and whether they did not suffice."""

    free: int = 0
    total: int = 0
    held: int = 0
    peak: int = 0
    exhausted: bool = False

    @property
    def context(self) -> int:
        """What the process takes beside its tensors. What else is on the GPU cannot be told from it, hence the limit."""
        return min(max(0, self.total - self.free - self.held), LARGEST_CONTEXT)

    @property
    def footprint(self) -> int:
        return self.peak + self.context

    @property
    def obtainable(self) -> int:
        """What is free, and what this worker would leave behind."""
        return self.free + self.held + self.context

    @property
    def complaint(self) -> str:
        """What is said of a client that did not fit although no other worker was beside it."""
        of = f"{gigabytes(self.total)} in all, {gigabytes(self.free)} free, {gigabytes(self.peak)} taken by the worker"
        return f"the GPU's memory does not hold this client, even alone ({of}): lower --batch-size, or use --device cpu"


def gigabytes(count: float) -> str:
    return f"{count / 2**30:.1f} GB"


def ran_out_of_memory(error: BaseException | None) -> bool:
    if error is None:
        return False
    said = f"{type(error).__name__}: {error}"
    return type(error).__name__ == "OutOfMemoryError" or any(complaint in said for complaint in COMPLAINTS)


def reading(error: BaseException | None = None) -> Reading | None:
    """What this process can tell of its GPU; None where it uses none. After an error for want of memory, it gives back its own."""
    if "torch" not in sys.modules:  # another's app, which may do without
        return None
    from fl_config import device

    exhausted = ran_out_of_memory(error)
    try:
        memory = device.device_memory()
        if exhausted and error is not None:
            traceback.clear_frames(error.__traceback__)  # whose variables are the tensors that fill the memory
            device.release_memory()
    except RuntimeError:  # a GPU that had no room for as much as this process's context
        memory = None
    if memory is None:
        return Reading(exhausted=True) if exhausted else None
    return Reading(memory.free, memory.total, memory.held, memory.peak, exhausted)
