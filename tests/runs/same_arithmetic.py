"""A run in an arithmetic that processors share, so that its bits can be recorded once for all of them.

Processors differ in their vector units, and libraries choose by these, and by who made the processor, in which order they add: two that call
themselves "AMD EPYC" gave different bits. Here torch uses none of them, and Intel's library the one way that it has on all processors. Whether a
processor takes part in this is not told by its name but by a probe: plain training and elementary functions, without any code of ours (not the
square root, which Intel's library computes by AVX-512 all the same).
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Sequence

SAME = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OMP_NUM_THREADS": "1",
}
PROBE = """
import hashlib
import numpy as np
import torch
from torch import nn

def some(*shape, of=1009):
    return ((torch.arange(1, 1 + int(np.prod(shape))) * 7919) % of).reshape(shape).float() / of

digest = hashlib.sha256()
for layers in ([nn.Linear(64, 10)], [nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)]):
    model = nn.Sequential(*layers)
    for parameter in model.parameters():
        parameter.data = (some(*parameter.shape, of=997) - 0.5) * 0.3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for size in [50, 7] * 20:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(some(size, 64)), torch.arange(size) % 10).backward()
        optimizer.step()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
x = some(50, 64) + 0.1
y = x.numpy()
for found in (x.exp(), x.log(), x.softmax(1), x.log_softmax(1), x @ x.T, x.mean(0), np.exp(y), np.log(y), y @ y.T):
    digest.update(np.asarray(found).tobytes())
print(digest.hexdigest())
"""
FOUND = (
    "7bc60fc9b09ca62dc9a17e66baac1f2c72db838f135e228048091bb4bf87b42d"  # where the bits of these tests were recorded
)


def done_there(words: Sequence[str]) -> str:
    """What a Python says that is started with these words."""
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, **SAME}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@functools.cache
def can_be_had() -> bool:
    """Whether this processor computes as those on which the bits were recorded do."""
    return done_there(["-c", PROBE]).strip() == FOUND


def run_there(words: Sequence[str]) -> None:
    """`fedloom run` with these flags, on the inline engine."""
    done_there(["-m", "fedloom", "run", *words, "--engine", "inline"])
