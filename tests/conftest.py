"""For all tests: property tests are repeatable and not timed (machines are busy), and torch takes one thread, as clients do."""

from __future__ import annotations

import torch
from hypothesis import settings

settings.register_profile("fedloom", deadline=None, derandomize=True)
settings.load_profile("fedloom")
torch.set_num_threads(1)
