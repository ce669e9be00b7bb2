"""FedBABU on the server: the head is the initial one for all, so that there is a whole model to evaluate."""

from __future__ import annotations

from fl_strategies.recipes import parse
from fl_strategies.topologies.babu import Babu
from tests.fl_strategies.topologies.three_arrays import MODEL, opened


def test_the_head_does_not_come_back_and_the_model_is_whole_all_the_same() -> None:
    made = opened(Babu())
    assert list(made.layout.shared) == ["trunk", "mean"]
    assert made.evaluated({}, {"global": MODEL}) == {"global": MODEL} and made.says({}, 0) == ("babu", {})


def test_clients_fine_tune_before_they_are_scored() -> None:
    assert parse("fedbabu").fine_tuning_epochs == 5 and parse("fedbabu").personal
