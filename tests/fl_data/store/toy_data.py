"""Four images and two, drawn from a seed."""

from __future__ import annotations

import numpy as np

from fl_data.dataset import Decoded


def decoded(seed: int = 0) -> Decoded:
    random = np.random.default_rng(seed)
    x = random.integers(0, 256, (6, 1, 2, 2), dtype=np.uint8)
    return Decoded(x[:4], np.array([0, 1, 0, 1]), x[4:], np.array([0, 1]), ("no", "yes"))
