"""Object files are read without running anything in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_data import DataError
from fl_data.formats.inert import read_inert
from tests.fl_data.formats.written import opcode_file


def test_an_object_file_runs_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "was-here"
    command = f"touch {trace}".encode()
    evil = b"\x80\x02}(U\x04data" + b"cposix\nsystem\nU" + bytes([len(command)]) + command + b"\x85Ru."
    (tmp_path / "batch").write_bytes(evil)
    with pytest.raises(DataError, match="something else than arrays"):
        read_inert(tmp_path / "batch")
    assert not trace.exists()
    whole = opcode_file({"data": np.zeros((2, 4), np.uint8), "labels": [1, 2]})
    for cut in range(len(whole)):
        (tmp_path / "batch").write_bytes(whole[:cut])
        with pytest.raises(DataError):
            read_inert(tmp_path / "batch")
