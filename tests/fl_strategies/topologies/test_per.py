"""FedPer on the server: only the body comes back, and it is no whole model."""

from __future__ import annotations

from fl_strategies.recipes import parse
from fl_strategies.topologies.per import Per
from tests.fl_strategies.topologies.three_arrays import MODEL, opened


def test_only_the_body_comes_back_and_the_server_evaluates_nothing() -> None:
    made = opened(Per())
    assert made.layout.private == {"fc"} and list(made.layout.shared) == ["trunk", "mean"]
    assert made.evaluated({}, {"global": MODEL}) == {} and made.says({}, 0) == ("per", {})


def test_every_client_ends_with_a_model_of_its_own() -> None:
    recipe = parse("fedper")
    assert recipe.personal and isinstance(recipe.topology({}), Per) and recipe.fine_tuning_epochs == 0
