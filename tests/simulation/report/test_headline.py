"""What a page goes by, and how its figures are written."""

from __future__ import annotations

import pytest

from fl_runs.reading import Headline
from simulation.report.headline import Spread, figure_text, shared_headline, title_of
from tests.runs.made_runs import record
from tests.simulation.report.headline_runs import scored


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        ((0.91204, None), "accuracy", "91.20 %"),
        ((0.912, 0.0031), "balanced_accuracy", "91.20 ± 0.31 %"),
        ((0.900385, None), "auroc", "0.9004"),
        ((0.9, 0.01234), "auroc", "0.9000 ± 0.0123"),
        ((141.0514, 0.4213), "rmse", "141.1 ± 0.4"),
        ((53.2149, None), "rmse", "53.21"),
        ((1234567.0, None), "mae", "1,235,000"),
        ((-0.5, None), "r2", "-0.5000"),
        ((0.0, None), "r2", "0.0000"),
        ((1.5e-7, None), "loss", "1.5e-07"),
        ((2.34567e9, 1e8), "loss", "2.346e+09 ± 1e+08"),
        (None, "auroc", "–"),
    ],
)
def test_shares_are_percent_and_everything_else_has_four_digits(value: Spread | None, key: str, text: str) -> None:
    assert figure_text(value, key) == text


def test_runs_with_different_headlines_are_compared_by_what_all_have() -> None:
    one, other = scored("fedavg", "auroc", [0.5, 0.6]), record("fedprox", 0, {0: 0.1})
    assert shared_headline([one]) == Headline("auroc", "more")
    assert shared_headline([one, other]).name == "auroc"  # nothing is shared, so that the first run decides
    one.metrics[1]["global/accuracy"] = 0.4
    assert shared_headline([one, other]) == Headline("accuracy", "more")
    assert shared_headline([]) == Headline()


def test_headings_begin_with_a_capital_only_where_the_name_is_a_word() -> None:
    assert [title_of(Headline()), title_of(Headline("auroc"))] == ["Accuracy", "auroc"]


def test_less_is_better_of_errors() -> None:
    assert Headline("rmse", "less").best_of([3.0, 1.0, 2.0]) == 1.0
    assert Headline().best_of([3.0, 1.0, 2.0]) == 3.0
