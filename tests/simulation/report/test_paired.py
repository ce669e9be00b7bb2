"""The paired test over seeds, with numbers computed by hand and by SciPy, and what is compared with what."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from fl_config.errors import ConfigError
from fl_runs.reading import Headline, RunGroup, group_runs
from simulation.report.paired import Paired, baseline_named, paired
from tests.runs.made_runs import record


def group(strategy: str, finals: dict[int, float]) -> RunGroup:
    (made,) = group_runs([record(strategy, seed, {0: 0.9, 5: value}) for seed, value in finals.items()])
    return made


def test_the_test_is_students_of_the_differences() -> None:
    """d = 0.1, 0.2, 0.3: mean 0.2, std 0.1, t = 0.2 / (0.1 / sqrt 3) = 3.4641 with 2 degrees of freedom: p = 0.0742."""
    base, ours = {0: 0.1, 1: 0.3, 2: 0.2}, {0: 0.2, 1: 0.5, 2: 0.5}
    made = paired(group("feddisco", ours), group("fedavg", base), Headline())
    assert made is not None and (made.baseline, made.pairs) == ("fedavg", 3)
    assert made.difference == pytest.approx(0.2) and made.p == pytest.approx(0.07418, abs=1e-5)
    assert made.p == pytest.approx(float(ttest_rel(list(ours.values()), list(base.values())).pvalue), rel=1e-9)
    assert made.text("accuracy") == "+20.00 points (n = 3, p = 0.0742)"


def test_pairs_are_seeds_that_both_have() -> None:
    made = paired(
        group("a", {1: 0.5, 2: 0.6, 3: 0.9, 7: 0.1}), group("b", {3: 0.4, 2: 0.4, 1: 0.4, 8: 0.9}), Headline()
    )
    assert made is not None and made.pairs == 3 and made.difference == pytest.approx((0.1 + 0.2 + 0.5) / 3)


@pytest.mark.parametrize(
    "ours",
    [{0: 0.3, 1: 0.5}, {0: 0.1, 1: 0.3, 2: 0.2}, {0: 0.2, 1: 0.4, 2: 0.3}, {5: 0.1, 6: 0.2, 7: 0.4}],
    ids=["two pairs", "the same figures", "one and the same difference", "other seeds"],
)
def test_where_nothing_can_be_said_nothing_is(ours: dict[int, float]) -> None:
    assert paired(group("a", ours), group("b", {0: 0.1, 1: 0.3, 2: 0.2}), Headline()) is None


def test_other_figures_are_no_percentages() -> None:
    assert Paired("fedavg", 5, -0.012345, 0.00001234).text("rmse") == "-0.01235 (n = 5, p = 1.23e-05)"
    assert np.isclose(float(Paired("x", 3, 0.5, 0.2).text("rmse").split()[0]), 0.5)


def test_a_baseline_that_there_is_not_is_told_with_the_nearest() -> None:
    groups = [group("fedavg", {0: 0.1}), group("feddisco", {0: 0.2})]
    assert baseline_named(groups, "") == [groups[0]] and baseline_named(groups, "feddisco") == [groups[1]]
    with pytest.raises(ConfigError, match="no 'fedisco' among these runs.*did you mean 'feddisco'"):
        baseline_named(groups, "fedisco")
