"""The map of clients: where they stand, how large they are, and who is named as badly served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_runs.reading import RunRecord
from simulation.report.pictures.client_map import (
    client_map,
    expected_accuracy,
    mean_weights,
    principal_plane,
    side_by_side,
)
from tests.simulation.report.headline_runs import scored

SPLIT = {
    "class_names": ["cat", "dog"],
    "client_ids": [0, 1, 2, 3, 4],
    "counts": [[10, 0], [0, 40], [5, 5], [0, 0], [30, 10]],
}


def run_of(*lines: dict[str, Any], partition: Any = SPLIT) -> RunRecord:
    metrics = [{"round": number, **line} for number, line in enumerate(lines)]
    return RunRecord(Path("r"), {"strategy": "fedavg"}, metrics, {}, partition, "r")


def test_expected_accuracy_is_the_classes_by_the_clients_mix() -> None:
    counts = np.array([[10.0, 0.0], [3.0, 1.0], [0.0, 0.0]])
    assert expected_accuracy(["a", "b", "c"], counts, [0.8, 0.4]) == pytest.approx({"a": 0.8, "b": 0.7})
    assert expected_accuracy(["a", "b", "c"], counts, [None, 0.4]) == pytest.approx({"b": 0.4})


def test_the_plane_keeps_distances_of_three_classes_and_does_not_depend_on_luck() -> None:
    rows = np.eye(3)[[0, 1, 2, 0]]
    places, directions = principal_plane(rows)
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(2**0.5)
    np.testing.assert_allclose(places[0], places[3], atol=1e-12)
    assert all(direction[np.abs(direction).argmax()] > 0 for direction in directions)
    places, directions = principal_plane(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert places.shape == (2, 2) and not directions[1].any() and not places[:, 1].any()


def test_clients_with_like_labels_are_neighbours_and_the_worst_are_named() -> None:
    found = client_map(run_of({"global/class_accuracy": [0.9, 0.2]}))
    assert found is not None
    (dots,) = found.figure.marks
    names = [note.removeprefix("client ") for note in dots.notes]
    assert names == ["1", "4", "0", "2", "3"]  # the large ones first, below the others
    assert dots.sizes == sorted(dots.sizes, reverse=True) and dots.sizes[-1] == 4.0
    assert dots.shades == pytest.approx([0.2, 0.725, 0.9, 0.55, None])
    assert [names[place] for place in dots.named] == ["1", "2", "4"]
    place = dict(zip(names, dots.x, strict=True))
    assert abs(place["0"] - place["4"]) < abs(place["0"] - place["1"])
    assert dots.details[0] == "40 examples: 100% dog"
    assert "accuracy to be expected" in found.caption and "are named" in found.caption
    assert dots.y == pytest.approx(dots.shades)  # two classes differ in one way only
    assert (found.figure.plot.y.title, found.figure.plot.y.unit) == ("expected accuracy", "share")
    assert found.figure.plot.x.title == "← more cat · more dog →" or "more dog · more cat" in found.figure.plot.x.title


def test_no_dot_hides_another() -> None:
    """Five clients with two classes each and one with all: two of them have one place in the plane."""
    counts = [[10 * (c // 2 == client) for c in range(10)] for client in range(5)] + [[2] * 10]
    split = {"class_names": [str(c) for c in range(10)], "client_ids": list(range(6)), "counts": counts}
    found = client_map(run_of({"global/class_accuracy": [0.5] * 10}, partition=split))
    assert found is not None
    (dots,) = found.figure.marks
    places = np.array([dots.x, dots.y]).T
    apart = [np.linalg.norm(places[i] - places[j]) for i in range(6) for j in range(i)]
    assert min(apart) > 0.015 * np.ptp(places)
    alone = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.2]])
    assert np.array_equal(side_by_side(alone), alone)
    same = side_by_side(np.array([[0.0, 0.0]] * 50 + [[1.0, 1.0]]))
    assert len({tuple(np.round(place, 3)) for place in same}) == 51
    assert np.linalg.norm(same[:50], axis=1).max() < 0.2  # and they stay together


def test_own_figures_win_over_expected_ones_and_weights_are_the_last_resort() -> None:
    own = {"personal/client_ids": [0, 1], "personal/client_accuracy": [0.5, 0.7], "global/class_accuracy": [0.9, 0.2]}
    found = client_map(run_of(own))
    assert found is not None
    assert sorted(value for value in found.figure.marks[0].shades if value is not None) == [0.5, 0.7]
    weighed = client_map(run_of({"cohort": [0, 1], "weights": [0.25, 0.75]}, {"cohort": [0], "weights": [1.0]}))
    assert weighed is not None
    assert weighed.figure.marks[0].details[0] == "40 examples: 100% dog; mean weight 0.75"
    assert "mean weight" in weighed.caption and "named" not in weighed.caption
    assert client_map(run_of({})) is None


def test_a_deployment_tells_no_labels_and_is_drawn_by_weight_and_figure() -> None:
    run = scored("fedavg", "auroc", [0.5, 0.6], clients={"north": 0.9, "south": 0.4, "late": 0.3})
    run.metrics[1] |= {"cohort": ["north", "south"], "weights": [0.75, 0.25]}
    found = client_map(run)
    assert found is not None
    (dots,) = found.figure.marks
    assert (dots.notes, dots.x, dots.y) == (["north", "south"], [0.75, 0.25], [0.9, 0.4])
    assert dots.named[0] == 1
    assert mean_weights(run) == {"north": 0.75, "south": 0.25}
