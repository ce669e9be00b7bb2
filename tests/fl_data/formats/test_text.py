"""Texts become numbers of words; the vocabulary comes from the training set alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_data import DataError
from fl_data.formats import text


def test_agnews_csv(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('"3","Oil up","Oil, ""black"" gold\\again"\n"1","War","the war"\n')
    (tmp_path / "test.csv").write_text('"4","New chip","the chip"\n')
    (tmp_path / "classes.txt").write_text("World\nSports\nBusiness\nSci/Tech\n")
    decoded = text.read_agnews_csv(tmp_path, ("a", "b", "c", "d"), length=8)
    assert decoded.class_names == ("World", "Sports", "Business", "Sci/Tech")
    assert decoded.y_train.tolist() == [2, 0]
    assert decoded.y_test.tolist() == [3]
    # oil and war occur twice; then again, black, gold, the, up by the alphabet.
    assert decoded.x_train.tolist() == [[2, 8, 2, 5, 6, 4, 0, 0], [3, 7, 3, 0, 0, 0, 0, 0]]
    assert decoded.x_test.tolist() == [[1, 1, 7, 1, 0, 0, 0, 0]]
    assert decoded.vocabulary == 9
    (tmp_path / "test.csv").write_text('"5","New chip","the chip"\n')
    with pytest.raises(DataError, match="line 1"):
        text.read_agnews_csv(tmp_path, ("a", "b", "c", "d"))


def test_newsgroups_tab(tmp_path: Path) -> None:
    head = "Category\tText\nd\tstring\nclass\t\n\n"
    (tmp_path / "20newsgroups-train.tab").write_text(head + "sci.med\tDoctor don't doctor\nalt.fun\thaha\n")
    (tmp_path / "20newsgroups-test.tab").write_text(head + "alt.fun\tdoctor who\n")
    decoded = text.read_newsgroups_tab(tmp_path, length=3)
    assert decoded.class_names == ("alt.fun", "sci.med")
    assert decoded.y_train.tolist() == [1, 0]
    assert decoded.x_train.tolist() == [[2, 3, 2], [4, 0, 0]]
    assert decoded.x_test.tolist() == [[2, 1, 0]]


def test_the_vocabulary_is_bounded_and_learnt_from_training_alone() -> None:
    train = [(" ".join(f"w{n}" for n in range(25_000)), 0), ("w7 w7", 1)]
    decoded = text.tokenise(train, [("w7 test", 0)], ("a", "b"), 4)
    assert decoded.vocabulary == 20_002
    assert decoded.x_test.tolist() == [[2, 1, 0, 0]]
