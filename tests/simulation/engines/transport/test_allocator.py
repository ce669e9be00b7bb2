"""Arrays that come and go use the same memory again: no page of it is fetched twice."""

from __future__ import annotations

import subprocess
import sys

import pytest

COUNTED = """
import resource
import numpy as np
from simulation.engines.transport.allocator import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for size in (200_000, 50_000) * 50:
        kept = np.ones(size), np.ones(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

kept = keep_freed_memory()
faults()
print(kept, faults())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc can be told")
def test_freed_memory_is_used_again() -> None:
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    kept, faults = done.stdout.split()
    assert kept == "True" and int(faults) < 20  # 400 and more for one array of 1.6 MB
