"""Our figure of a row and its verdict, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from simulation.reproduce.kept_results import Result, run_name
from simulation.reproduce.published import Row, read_tables
from simulation.reproduce.verdicts import NOT_RUN, figure_of, ours, side_by_side, verdict
from tests.simulation.reproduce.toy_table import toy_table


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, Row]:
    return {row.name: row for row in read_tables([toy_table(tmp_path)])}


def results(row: Row, *accuracies: list[float], setting: int = 0, score: str = "cohort/accuracy") -> dict[str, Result]:
    """One result per seed, with these accuracies after rounds 1, 2, ..."""
    made = {}
    for number, values in enumerate(accuracies):
        seed = row.seed + number
        name = run_name(row.settings[setting], seed)
        curve = dict(enumerate([0.1, *values]))
        made[name] = Result(name, {}, seed, len(values), {score: curve}, {score: values[-1]}, 1.0, [])
    return made


def test_the_figure_is_the_last_accuracy_or_the_first_round_that_reaches_the_level() -> None:
    curve = {0: 0.99, 1: 0.5, 2: 0.97, 3: 0.9}
    assert figure_of(curve, None) == 90
    assert figure_of(curve, 0.97) == 2  # the model before training does not count
    assert figure_of(curve, 0.98) is None


def test_mean_deviation_and_distance_to_the_published_figure(rows: dict[str, Row]) -> None:
    row = replace(rows["toy-iid-fedavg"], tolerance=2.0)
    one = ours(row, results(row, [0.2, 0.51], [0.2, 0.53]))
    assert (one.mean, one.deviation) == (pytest.approx(52), pytest.approx(2**0.5))
    assert (one.text, verdict(one, {})) == ("52.00 %", "within (+2.00)")
    one = ours(row, results(row, [0.475]))
    assert (one.deviation, verdict(one, {})) == (None, "outside by 0.50 (-2.50)")
    assert verdict(ours(row, {}), {}) == NOT_RUN
    assert len(ours(row, results(row, [0.5], [0.6]), seeds=1).figures) == 1
    assert ours(row, results(row, [0.5], score="global/accuracy")).figures == ()
    assert verdict(ours(replace(row, no_target="it diverged"), results(row, [0.5])), {}) == "no target: it diverged"


def test_fewer_rounds_are_as_good_and_a_level_may_be_missed(rows: dict[str, Row]) -> None:
    row = rows["toy-fast-fedavg"]  # published: 2 rounds, within 1
    assert verdict(ours(row, results(row, [0.3])), {}) == "within (-1.0)"
    assert verdict(ours(row, results(row, [0.2, 0.2, 0.3])), {}) == "within (+1.0)"
    assert verdict(ours(row, results(row, [0.2] * 4 + [0.3])), {}) == "outside by 2.00 (+3.00)"
    missed = ours(row, results(row, [0.3, 0.3], [0.2, 0.2]))
    assert (missed.mean, missed.text) == (None, "not reached in 2 rounds")
    assert verdict(missed, {}) == "outside: not reached, published 2"


def test_of_several_settings_the_best_counts_once_all_are_run(rows: dict[str, Row]) -> None:
    base, row = rows["toy-iid-fedavg"], rows["toy-iid-fedprox"]
    known = results(base, [0.5]) | results(row, [0.4], setting=0)
    assert verdict(side_by_side([row], known)[0], {}) == "1 of 2 settings run"
    known |= results(row, [0.55], setting=1)
    told = {one.row.name: one for one in side_by_side([base, row], known)}
    assert told[row.name].text == "55.00 % (prox.mu=1.0)"
    assert verdict(told[row.name], told) == "gains 5.00 points"
    assert verdict(told[row.name], {}) == "FedAvg not run"
    known |= results(base, [0.6])
    told = {one.row.name: one for one in side_by_side([base, row], known)}
    assert verdict(told[row.name], told) == "no gain: -5.00 points"


def test_a_gain_is_that_of_the_seeds_that_both_have(rows: dict[str, Row]) -> None:
    base, row = rows["toy-iid-fedavg"], rows["toy-iid-fedprox"]
    row = replace(row, settings=row.settings[:1])

    def told(ours: list[list[float]], theirs: list[list[float]]) -> str:
        known = results(base, *theirs) | results(row, *ours)
        by_name = {one.row.name: one for one in side_by_side([base, row], known)}
        return verdict(by_name[row.name], by_name)

    assert told([[0.5], [0.7]], [[0.4], [0.5], [0.9]]) == "gains 15.00 points (+10.0 +20.0)"
    assert told([[0.5], [0.4]], [[0.4], [0.6]]) == "no gain: -5.00 points (+10.0 -20.0)"
    only_later = {name: one for name, one in results(base, [0.4], [0.5]).items() if one.seed == base.seed + 1}
    by_name = {one.row.name: one for one in side_by_side([base, row], only_later | results(row, [0.5]))}
    assert verdict(by_name[row.name], by_name) == "no seed that FedAvg has as well"
