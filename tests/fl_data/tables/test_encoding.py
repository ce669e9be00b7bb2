"""A row as features: standardised numbers, one-hot categories, missing and unknown values, and the encoding as a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fl_data import DataError
from fl_data.formats.ways import Wanted
from fl_data.tables import Encoding, encode
from fl_data.tables.encoding import Category, Number, learn_features

TRAIN = pa.table(
    {
        "age": [20.0, None, 40.0, 60.0],
        "sex": ["f", "m", None, "f"],
        "smoker": [True, False, False, None],
        "ward": [3, 3, 3, 3],
        "ill": ["yes", "no", "no", "yes"],
    }
)
FEATURES, MISSING = learn_features(TRAIN, ["ill"])
ENCODING = Encoding(FEATURES, ("ill",), "classes", ("no", "yes"))


def test_what_is_learned_from_the_training_rows() -> None:
    deviation = float(np.sqrt(800 / 3))
    assert list(FEATURES) == [
        Number("age", 40.0, pytest.approx(deviation)),  # type: ignore[arg-type]
        Category("sex", ("f", "m")),
        Category("smoker", ("false", "true")),
        Number("ward", 3.0, 1.0),
    ]
    assert MISSING == {"age": 1, "sex": 1, "smoker": 1}
    assert ENCODING.feature_names == ("age", "sex=f", "sex=m", "smoker=false", "smoker=true", "ward")


def test_rows_by_hand() -> None:
    deviation = np.sqrt(800 / 3)
    x = ENCODING.apply(TRAIN)
    assert x.dtype == np.float32
    assert x == pytest.approx(
        np.array(
            [
                [-20 / deviation, 1, 0, 0, 1, 0],
                [0, 0, 1, 1, 0, 0],
                [0, 0, 0, 1, 0, 0],
                [20 / deviation, 1, 0, 0, 0, 0],
            ]
        ),
        abs=1e-6,
    )
    labels = ENCODING.targets(TRAIN)
    assert labels is not None
    assert labels.tolist() == [1, 0, 0, 1]


def test_new_rows_may_be_strange() -> None:
    """Another order, a further column, a value never seen, whole numbers where there were decimals."""
    new = pa.table({"ward": [4], "extra": ["?"], "smoker": [True], "sex": ["x"], "age": [60]})
    assert ENCODING.apply(new)[0] == pytest.approx([20 / np.sqrt(800 / 3), 0, 0, 0, 1, 1])
    assert ENCODING.targets(new) is None
    with pytest.raises(DataError, match="no column 'age', which is a feature; it has ward"):
        ENCODING.apply(new.drop_columns(["age"]))
    with pytest.raises(DataError, match="'age' was expected to hold numbers"):
        ENCODING.apply(new.set_column(4, "age", pa.array(["old"])))
    with pytest.raises(DataError, match="there is the value 'perhaps', which is none of the 2 classes"):
        ENCODING.targets(new.append_column("ill", pa.array(["perhaps"])))
    with pytest.raises(DataError, match="a row has no value"):
        ENCODING.targets(new.append_column("ill", pa.array([None], pa.string())))


def test_numbers_may_stay_as_they_are() -> None:
    raw = Encoding(FEATURES, ("ill",), "classes", ("no", "yes"), standardise=False)
    assert raw.apply(TRAIN)[:, 0].tolist() == [20, 40, 40, 60]
    assert raw.apply(TRAIN)[:, 5].tolist() == [3, 3, 3, 3]


def test_the_file_gives_the_same_encoding_back(tmp_path: Path) -> None:
    assert Encoding.from_json(ENCODING.to_json()) == ENCODING
    (tmp_path / "encoding.json").write_text(ENCODING.to_json())
    again = Encoding.read(tmp_path / "encoding.json")
    assert again.apply(TRAIN).tobytes() == ENCODING.apply(TRAIN).tobytes()
    assert hash(again) == hash(ENCODING)
    for wrong in (
        "{}",
        "[]",
        "rubbish",
        ENCODING.to_json().replace('"version": 1', '"version": 2'),
        '{"version": 1, "features": 3}',
    ):
        with pytest.raises(DataError, match="not an encoding"):
            Encoding.from_json(wrong)
    with pytest.raises(DataError, match="cannot be read"):
        Encoding.read(tmp_path / "absent.json")


def test_targets_that_are_numbers_or_many() -> None:
    table = pa.table({"a": [1, 0, 1], "b": [0, 1, 1], "c": [0.5, 1.5, 2.5]})
    many = Encoding((), ("a", "b"), "many", ("a", "b")).targets(table)
    numbers = Encoding((), ("c",), "numbers", ("c",)).targets(table)
    both = Encoding((), ("a", "c"), "numbers", ("a", "c")).targets(table)
    assert many is not None
    assert numbers is not None
    assert both is not None
    assert (many.dtype, many.tolist()) == (np.float32, [[1, 0], [0, 1], [1, 1]])
    assert (numbers.dtype, numbers.tolist()) == (np.float32, [0.5, 1.5, 2.5])
    assert both.shape == (3, 2)
    with pytest.raises(DataError, match="other than 0 and 1, which --task multilabel needs"):
        Encoding((), ("c",), "many", ("c",)).targets(table)
    with pytest.raises(DataError, match="1 rows without a value"):
        Encoding((), ("c",), "numbers", ("c",)).targets(pa.table({"c": [0.5, None]}))


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            pa.array([f"patient {row}" for row in range(120)]),
            "120 different values in 120 training rows .* no category",
        ),
        (pa.array(np.arange(120).astype("datetime64[D]")), "'odd' is of type .*a date into days"),
        (pa.array([[1, 2]] * 120), "'odd' is of type list"),
        (pa.array([np.inf, *[0.0] * 119]), "'odd' has infinite values"),
    ],
)
def test_columns_that_are_no_features(column: pa.Array, sentence: str) -> None:
    table = pa.table({"odd": column, "y": ["a", "b"] * 60})
    with pytest.raises(DataError, match=sentence):
        encode(table, Wanted(label="y"), "toy", test_rows=np.zeros(120, bool))


def test_a_stored_dictionary_is_a_category() -> None:
    table = pa.table({"sex": pa.array(["f", "m", "f"]).dictionary_encode(), "y": [0, 1, 0]})
    assert learn_features(table, ["y"])[0] == (Category("sex", ("f", "m")),)
