"""What is not the published data set is refused: by its checksum, its counts, its shape, its classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fl_data import DataError, fetch
from fl_data.catalog import CATALOG, Entry, Expected


def test_another_checksum_is_refused(toy: Entry, tmp_path: Path) -> None:
    (tmp_path / "raw" / "toy-raw" / "seed").write_text("1")
    with pytest.raises(DataError, match="its checksum is"):
        fetch("toy", tmp_path)
    assert not (tmp_path / "arrays" / "toy").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"expected": Expected(5, 2)}, "4 train samples where toy has 5"),
        ({"expected": Expected(4, 2), "shape": (1, 3, 2)}, r"shape \(1, 2, 2\)"),
        ({"expected": Expected(4, 2), "classes": 1}, "do not fit 1 classes"),
        ({"expected": Expected(4, 2), "classes": 3}, "0 to 2 samples"),
    ],
)
def test_what_verification_refuses(
    toy: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], sentence: str
) -> None:
    monkeypatch.setitem(CATALOG, "toy", replace(toy, **change))  # type: ignore[arg-type]
    with pytest.raises(DataError, match=sentence):
        fetch("toy", tmp_path)
