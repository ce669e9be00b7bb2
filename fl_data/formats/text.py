"""Texts with labels (20 Newsgroups' tab files, AG News' CSV files) as rows of word numbers."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fl_data.dataset import DataError, Decoded

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
PADDING, UNKNOWN = 0, 1
LIMIT = 20_000


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def build_vocabulary(texts: Sequence[list[str]], limit: int = LIMIT) -> dict[str, int]:
    """The most frequent training words, numbered from 2 on; equal counts in order of the alphabet."""
    counts = Counter(word for text in texts for word in text)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return {word: number for number, (word, _) in enumerate(ranked, start=2)}


def encode(texts: Sequence[list[str]], vocabulary: dict[str, int], length: int) -> np.ndarray:
    """Word numbers [n, length], cut off or padded with 0."""
    rows = np.full((len(texts), length), PADDING, dtype=np.int32)
    for row, text in enumerate(texts):
        numbers = [vocabulary.get(word, UNKNOWN) for word in text[:length]]
        rows[row, : len(numbers)] = numbers
    return rows


def tokenise(
    train: Sequence[tuple[str, int]], test: Sequence[tuple[str, int]], classes: tuple[str, ...], length: int
) -> Decoded:
    """(text, label) pairs as token rows; the vocabulary is learnt from the training texts alone."""
    train_words = [words(text) for text, _ in train]
    vocabulary = build_vocabulary(train_words)
    return Decoded(
        encode(train_words, vocabulary, length),
        np.array([label for _, label in train], dtype=np.int64),
        encode([words(text) for text, _ in test], vocabulary, length),
        np.array([label for _, label in test], dtype=np.int64),
        classes,
        vocabulary=len(vocabulary) + 2,
        words=tuple(vocabulary),
    )


def encode_new(texts: Sequence[str], known: Sequence[str], length: int) -> np.ndarray:
    """New texts by the words of a vocabulary that was learnt before, in its order."""
    return encode([words(text) for text in texts], {word: number for number, word in enumerate(known, start=2)}, length)


def read_newsgroups_tab(folder: Path, length: int = 200) -> Decoded:
    """`20newsgroups-train.tab` and `-test.tab`: three header lines, then category, tab, text."""
    halves = []
    for split in ("train", "test"):
        path = folder / f"20newsgroups-{split}.tab"
        if not path.is_file():
            raise DataError(f"{folder} has no file {path.name}.")
        lines = path.read_text(encoding="utf-8").split("\n")
        if lines[0].split("\t")[:2] != ["Category", "Text"]:
            raise DataError(f"{path} does not start with the columns Category and Text.")
        halves.append([(text, name) for name, tab, text in (line.partition("\t") for line in lines[3:]) if tab])
    classes = tuple(sorted({name for _, name in halves[0]}))
    number = {name: label for label, name in enumerate(classes)}
    unknown = sorted({name for _, name in halves[1]} - set(classes))
    if unknown:
        raise DataError(f"{folder} tests on the category {unknown[0]!r}, which its training file has not.")
    train, test = ([(text, number[name]) for text, name in half] for half in halves)
    return tokenise(train, test, classes, length)


def read_agnews_csv(folder: Path, class_names: tuple[str, ...], length: int = 64) -> Decoded:
    """`train.csv` and `test.csv`: class 1..4, title, description, and no header."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    halves = []
    for split in ("train", "test"):
        path = folder / f"{split}.csv"
        if not path.is_file():
            raise DataError(f"{folder} has no file {path.name}.")
        pairs = []
        with path.open(newline="", encoding="utf-8") as lines:
            for number, row in enumerate(csv.reader(lines), start=1):
                if len(row) < 2 or not row[0].isdigit() or not 1 <= int(row[0]) <= len(class_names):
                    raise DataError(f"{path} line {number} is not a class 1..{len(class_names)}, a title and a text.")
                pairs.append((" ".join(row[1:]).replace("\\", " "), int(row[0]) - 1))
        halves.append(pairs)
    names = folder / "classes.txt"
    given = tuple(names.read_text().split("\n")) if names.is_file() else ()
    classes = given[: len(class_names)] if len(given) >= len(class_names) else class_names
    return tokenise(halves[0], halves[1], classes, length)
