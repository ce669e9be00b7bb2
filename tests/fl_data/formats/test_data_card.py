"""What a run keeps of its data comes back as it was, and damage is told in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fl_data.dataset import DataError
from fl_data.formats.data_card import ENCODING, FILE, DataCard
from fl_data.store import load
from fl_data.tables.encoding import Category, Encoding, Number


def test_of_images(tmp_path: Path) -> None:
    digits = load("digits")
    card = DataCard.of(digits)
    assert (card.kind, card.shape, card.outputs, card.label_shape) == ("image", (1, 8, 8), 10, ())
    assert (card.mean, card.std) == (digits.mean, digits.std)
    card.write(tmp_path)
    assert DataCard.read(tmp_path) == card


def test_of_a_table_with_its_encoding(tmp_path: Path) -> None:
    encoding = Encoding((Number("age", 50.0, 10.0), Category("sex", ("f", "m"))), ("a", "b"), "numbers", ("a", "b"))
    card = DataCard(
        name="csv:é.csv", kind="features", shape=(3,), labels="numbers", label_shape=(2,), num_classes=0,
        class_names=("a", "b"), mean=None, std=None, flips=False, vocabulary=0, encoding=encoding,
    )  # fmt: skip
    (tmp_path / ENCODING).write_text(encoding.to_json())
    card.write(tmp_path)
    assert DataCard.read(tmp_path) == card
    assert (card.outputs, card.output_names) == (2, ("a", "b"))
    assert replace(card, label_shape=()).outputs == 1
    assert replace(card, class_names=()).output_names == ("0", "1")


def test_none_and_a_damaged_one(tmp_path: Path) -> None:
    assert DataCard.read(tmp_path) is None
    for text in ("{}", "[1]", "no json", '{"version": 1, "name": "x"}', '{"version": 7}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(DataError, match=r"data\.json does not describe data as a run writes it"):
            DataCard.read(tmp_path)
