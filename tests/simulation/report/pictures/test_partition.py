"""A partition's picture keeps every example, for few clients and for very many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulation.report.pictures.partition import arrange_partition, partition_figure, partition_png, some_of_many


@pytest.mark.parametrize("clients", [3, 60, 61, 500, 1000])
def test_partition_keeps_every_example_on_average_from_few_to_many_clients(clients: int, tmp_path: Path) -> None:
    counts = np.random.default_rng(0).integers(0, 50, (clients, 4))
    names, ids = ["cat", "dog", "$owl$", "<b>"], list(range(clients))
    figure = partition_figure(counts.tolist(), names, ids)
    sizes, cells = figure.marks
    assert len(sizes.x) == min(clients, {500: 250, 1000: 250}.get(clients, clients))
    assert np.mean(sizes.y) == pytest.approx(counts.sum() / clients)
    assert len(set(sizes.x)) == len(sizes.x)
    assert figure.plots[1].y.names == names
    assert np.sum(cells.notes) == pytest.approx(np.sum(sizes.y), rel=1e-4)
    partition_png(counts.tolist(), names, ids, tmp_path / "split.png")
    assert (tmp_path / "split.png").read_bytes().startswith(b"\x89PNG")


def test_many_clients_are_ordered_by_main_class() -> None:
    counts = np.eye(3, dtype=int)[np.arange(90) % 3] * 10
    rows, labels, ordered = arrange_partition(counts.tolist(), list(range(90)))
    assert ordered
    assert rows.argmax(axis=1).tolist() == [0] * 30 + [1] * 30 + [2] * 30
    assert [int(label) % 3 for label in labels] == [0] * 30 + [1] * 30 + [2] * 30


def test_partition_that_does_not_fit_its_clients_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="do not fit 3 clients"):
        partition_figure([[1, 2]], ["a", "b"], [0, 1, 2])


def test_a_caption_says_when_only_some_clients_are_shown() -> None:
    some, everyone = {"client_ids": [0, 5, 9], "clients": 12_345}, {"client_ids": [0, 1]}
    assert some_of_many({"a": everyone, "b": some}) == " Of 12,345 clients, 3 that are spread evenly are shown."
    assert some_of_many({"a": everyone}) == some_of_many({}) == ""
