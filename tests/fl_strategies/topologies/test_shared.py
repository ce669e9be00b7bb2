"""One model for all: everybody gets everything, always."""

from __future__ import annotations

from fl_strategies.recipes import parse
from fl_strategies.topologies.shared import Shared
from tests.fl_strategies.topologies.three_arrays import goes_to, opened


def test_everybody_gets_the_whole_model_also_who_took_part_before() -> None:
    made = opened(Shared())
    assert goes_to(made, 0, {0: 5}) == goes_to(made, 1, {0: 5}) == ["trunk", "mean", "fc"]
    assert list(made.layout.shared) == ["trunk", "mean", "fc"]


def test_a_recipe_that_names_no_topology_has_this_one() -> None:
    recipe = parse("feddyn+asd")
    assert isinstance(recipe.topology({}), Shared) and not recipe.personal and recipe.fine_tuning_epochs == 0
