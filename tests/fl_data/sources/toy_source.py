"""A data set whose one image has the value that a file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fl_data.catalog import Entry, Expected
from fl_data.dataset import Decoded

ENTRY = Entry("toy", "image", (1, 2, 2), 2, Expected(None, None), ())


def reader(folder: Path) -> Decoded:
    value = int((folder / "value").read_text())
    return Decoded(np.full((1, 1, 2, 2), value, np.uint8), np.zeros(1), np.zeros((0, 1, 2, 2)), np.zeros(0), ("a",))


def scratch(tmp_path: Path) -> Path:
    place = tmp_path / "scratch"
    place.mkdir()
    return place
