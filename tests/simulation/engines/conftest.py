"""For the engine's tests: workers find obedient_app where this process does, and Ctrl-C raises here, however the tests were started."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own handler of SIGINT. A shell starts its background jobs with SIGINT ignored, and these tests may be one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
