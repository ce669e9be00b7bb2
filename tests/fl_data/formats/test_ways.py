"""Ways in: what a run may want of which data, and one of one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_data import DataError, check_dataset_spec, load
from fl_data.dataset import Dataset
from fl_data.formats import ways
from fl_data.formats.ways import Wanted, way


@pytest.mark.parametrize(
    ("spec", "wanted", "sentence"),
    [
        (
            "digits",
            {"label": "y"},
            "--label 'y' names a column of a table, but digits brings labels of its own; leave --label out",
        ),
        (
            "digits",
            {"labels": "numbers"},
            "digits has one class per sample, but --task regression needs other labels: use .*csv:FILE",
        ),
        ("digits", {"labels": "many"}, "--task multilabel needs other labels"),
        (
            "digits",
            {"column": "hospital"},
            "column:hospital takes the clients from a column, but digits has no columns",
        ),
        ("folder:{}", {"label": "y"}, "leave --label out"),
        ("csv:{}/t.csv", {}, "needs --label COLUMN"),
        ("csv:{}/none.csv", {"label": "y"}, "no file that exists"),
        ("parquet:", {"label": "y"}, "no file that exists"),
        ("hf:{}/none", {}, "no file or folder that exists"),
        ("csv", {"label": "y"}, "There is no dataset 'csv'"),
    ],
)
def test_what_cannot_be_wanted(tmp_path: Path, spec: str, wanted: dict[str, str], sentence: str) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n")
    with pytest.raises(DataError, match=sentence):
        check_dataset_spec(spec.format(tmp_path), **wanted)  # type: ignore[arg-type]


def test_a_data_set_of_ones_own_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "WAYS", dict(ways.WAYS))

    def moons(place: Path, wanted: Wanted) -> Dataset:
        x = np.full((4, 2), float(str(place) == "3"), np.float32)
        y = np.array([0, 1, 0, 1])
        return Dataset(f"moons:{place}", "features", x, y, x, y, 2, ("up", "down"), None, None, False)

    way("moons:SEED", "two moons", place="nowhere")(moons)
    way("sun", "one sun", place="nowhere")(moons)
    assert load("moons:3").x_train.max() == 1
    assert load("moons:4").x_train.max() == 0
    assert load("sun").class_names == ("up", "down")
    with pytest.raises(DataError, match="two kinds of data called 'npz'"):
        way("npz:FILE", "again")(moons)
    with pytest.raises(DataError, match="moons:3 has no columns"):
        load("moons:3", column="x")
