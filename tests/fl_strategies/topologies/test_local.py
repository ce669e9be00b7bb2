"""Training alone, as the server sees it: nothing comes back."""

from __future__ import annotations

from fl_strategies.recipes import parse
from fl_strategies.topologies.local import Local
from tests.fl_strategies.topologies.three_arrays import MODEL, goes_to, opened


def test_a_client_gets_the_initial_model_once_and_gives_nothing_back() -> None:
    made = opened(Local())
    assert goes_to(made, 0, {}) == ["trunk", "mean", "fc"] and goes_to(made, 0, {0: 1}) == []
    assert made.layout.shared == {} and made.evaluated({}, {"global": MODEL}) == {}
    assert made.says({}, 0) == ("local", {}) and parse("local").personal
