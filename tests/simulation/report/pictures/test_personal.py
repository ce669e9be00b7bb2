"""What the pictures of clusters and of personalised accuracy hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_data.discrepancy import discrepancy
from fl_runs.reading import RunRecord
from simulation.report.pictures.drawing import PALETTE
from simulation.report.pictures.personal import MOST_STEPS, cluster_figure, cuau_figure, label_skew, personal_figure

SPLIT = {"class_names": ["a", "b"], "client_ids": [0, 1, "x"], "counts": [[5, 5], [8, 0], [6, 2]]}


def run_of(*lines: dict[str, Any], strategy: str = "fedcuau", seed: int = 0, partition: Any = SPLIT) -> RunRecord:
    metrics = [{"round": number, **line} for number, line in enumerate(lines)]
    options = {"strategy": strategy, "seed": seed}
    return RunRecord(Path(f"{strategy}-{seed}"), options, metrics, {"finished": True}, partition, strategy)


def test_skew_is_zero_for_even_labels_and_log_c_for_one() -> None:
    skew = label_skew([[5, 5], [8, 0], [6, 2]])
    np.testing.assert_allclose(skew, [0, np.log(2), 0.75 * np.log(1.5) + 0.25 * np.log(0.5)], atol=1e-12)


def test_skew_is_discos_discrepancy_and_zero_without_examples() -> None:
    rows = np.random.default_rng(0).integers(0, 30, (20, 7))
    np.testing.assert_allclose(label_skew(rows.tolist()), [discrepancy(row) for row in rows], rtol=1e-12)
    assert label_skew([[0, 0], [1, 1]]).tolist() == [0.0, 0.0]


def test_cuau_stands_against_skew_by_cluster_with_late_clients() -> None:
    first = {"cuau/client_ids": [1, 0], "cuau/scores": [3.0, 1.0], "cuau/clusters": [2, 1]}
    late = {"cuau/client_ids": ["x"], "cuau/scores": [2.0], "cuau/clusters": [2]}
    figure = cuau_figure(run_of(first, {}, late))
    assert figure is not None
    assert [dots.look.name for dots in figure.marks] == ["cluster 1", "cluster 2"]
    one, two = figure.marks
    assert (one.notes, one.x, one.y) == (["0"], [0.0], [1.0])
    assert two.notes == ["1", "x"] and two.y == [3.0, 2.0]
    assert two.x[0] == pytest.approx(np.log(2), rel=1e-5)
    assert len({dots.look.colour for dots in figure.marks}) == len({dots.look.symbol for dots in figure.marks}) == 2


def test_no_clusters_or_no_known_split_is_no_picture() -> None:
    first = {"cuau/client_ids": [0], "cuau/scores": [1.0], "cuau/clusters": [1]}
    assert cuau_figure(run_of({})) is None and cuau_figure(run_of(first, partition=None)) is None
    assert personal_figure([run_of({"global/accuracy": 0.5})]) is None
    assert cluster_figure(run_of({"personal/client_accuracy": [0.5]})) is None


def test_the_distribution_is_that_of_the_last_evaluation_over_all_seeds() -> None:
    early = {"personal/client_accuracy": [0.0, 0.0]}
    runs = [
        run_of(early, {"personal/client_accuracy": own}, {}, seed=s) for s, own in enumerate([[0.5, 0.9], [0.7, 0.6]])
    ]
    figure = personal_figure(runs)
    assert figure is not None
    (line,) = figure.marks
    assert line.x == [0.5, 0.5, 0.6, 0.7, 0.9] and line.y == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert (line.look.colour, line.stepped) == (PALETTE[0], True)


def test_fine_tuning_is_shown_for_a_single_configuration() -> None:
    line = {"personal/client_accuracy": [0.8, 0.9], "personal/client_before": [0.2, 0.3]}
    one, other = run_of(line), run_of(line, strategy="fedper")
    alone, both = personal_figure([one]), personal_figure([one, other])
    assert alone is not None and both is not None
    assert [line.look.dash for line in alone.marks] == ["dot", "solid"]
    assert [line.look.colour for line in both.marks] == list(PALETTE[:2])
    untuned = personal_figure([run_of({**line, "personal/client_before": [0.8, 0.9]})])
    assert untuned is not None and len(untuned.marks) == 1


def test_clusters_have_a_distribution_each() -> None:
    line = {"personal/client_accuracy": [0.8, None, 0.4], "personal/client_cluster": [2, 1, 1]}
    figure = cluster_figure(run_of(line))
    assert figure is not None
    assert {line.look.name: line.x for line in figure.marks} == {"cluster 1": [0.4, 0.4], "cluster 2": [0.8, 0.8]}


def test_very_many_clients_are_drawn_by_quantiles() -> None:
    values = np.linspace(0, 1, 5000).tolist()
    figure = personal_figure([run_of({"personal/client_accuracy": values})])
    assert figure is not None
    assert len(figure.marks[0].x) == MOST_STEPS + 1
    assert figure.marks[0].x[MOST_STEPS // 2] == pytest.approx(0.5, abs=0.01)


def test_the_distribution_is_of_the_headline() -> None:
    line = {"personal/client_auroc": [0.9, 0.6], "personal/client_accuracy": [0.1, 0.2]}
    run = run_of(line | {"personal/client_cluster": [1, 2]})
    run.summary["headline"] = {"name": "auroc", "better": "more"}
    spread, clusters = personal_figure([run]), cluster_figure(run)
    assert spread is not None and clusters is not None
    assert spread.marks[0].x == [0.6, 0.6, 0.9]
    assert (spread.plot.x.title, spread.plot.x.unit) == ("auroc of a client", "number")
    assert {line.look.name: line.x for line in clusters.marks} == {"cluster 1": [0.9, 0.9], "cluster 2": [0.6, 0.6]}
