"""The strategy expression: what composes, what is the same, what is refused with a sentence."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_strategies.recipes import BASES, flat_parameters, parameters, parse, plugins, without_defaults

DESIGN_BASES = """local fedavg fedprox scaffold feddyn feddc fednova fedavgm fedadam fedyogi fedadagrad fedexp feddf afl moon feddecorr
    fedntd fedsam fedspeed fedvra fedper fedbabu feddisco fedssa fedssg asd""".split()
DESIGN_PLUGINS = """size uniform disco ssa similarity confidence afl prox moon asd ntd decorr sam avgm adam yogi adagrad exp nova df
    per babu""".split()


def test_every_name_of_the_design_is_there() -> None:
    assert set(DESIGN_BASES) <= set(BASES)
    assert set(DESIGN_PLUGINS) <= set(plugins())


@pytest.mark.parametrize("name", DESIGN_BASES)
def test_a_base_is_its_own_canonical_name(name: str) -> None:
    assert parse(name).name == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("feddisco", "fedavg+disco"),
        ("feddisco+asd", "asd+disco"),
        ("fedavg+prox", "fedprox"),
        ("fedavg+size", "fedavg"),
        ("feddyn+uniform", "feddyn"),
        ("fedprox+disco+asd", "fedavg+asd+prox+disco"),
        ("fedavg+SAM ", "fedsam"),
    ],
)
def test_two_ways_to_say_the_same_recipe(one: str, other: str) -> None:
    assert parse(one) == parse(other)


def test_parts_land_in_their_places() -> None:
    recipe = parse("feddyn+disco+asd+adam")
    assert (recipe.weighting, recipe.server_steps, recipe.objectives) == ("disco", ("adam", "dyn"), ("asd", "dyn"))
    assert parse("fedspeed+asd").optimizer == "speed"
    assert parse("scaffold+ssa").outgoing == "uniform"
    assert [parse(name).weighting for name in ("fedavg", "scaffold", "afl")] == ["size", "uniform", "afl"]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("fedavgg", ["'fedavgg'", "did you mean 'fedavg'"]),
        ("", ["''"]),
        ("fedavg+disc", ["'disc'", "did you mean 'disco'"]),
        ("fedavg+dyn", ["'dyn'"]),
        ("feddisco+ssa", ["weighting", "'disco'", "'ssa'"]),
        ("fedadam+yogi", ["server optimizer", "'adam'", "'yogi'"]),
        ("fedavg+asd+asd", ["'asd' twice"]),
        ("fedspeed+sam", ["'speed'", "'sam'"]),
        ("local+disco", ["'local'", "'disco'"]),
        ("feddyn+per", ["'dyn'", "'per'"]),
        ("fedper+ssa", ["'per'", "'ssa'"]),
        ("fedbabu+df", ["'babu'", "'df'"]),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(expression: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        parse(expression)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_combinations_have_one_name() -> None:
    assert parse("fedavg+cuau") == parse("fedcuau") and parse("fedcuau").name == "fedcuau"
    assert parse("fedavg+per+cuau").name == parse("fedcuau+per").name == "fedper+cuau"
    assert parse("fedbabu+cuau").parts == ("babu", "cuau", "size")
    assert parse("fedcuau+disco").weighting == "disco"


def test_a_base_may_fix_parameters_and_says_so() -> None:
    recipe = parse("fedssa-shares+asd")
    assert recipe.name == "fedssa-shares+asd"
    assert parse("fedssa").name == parse("fedavg+ssa").name == "fedssa"
    assert parameters(recipe, {})["ssa"].model_dump()["criterion"] == "shares"
    assert parameters(recipe, {"ssa.criterion": "shares"})["ssa"].model_dump()["criterion"] == "shares"
    for key in ("ssa.criterion", "fedssa-shares.criterion"):
        with pytest.raises(ConfigError, match="is the one with ssa.criterion = 'shares', but 'views' was given"):
            parameters(recipe, {key: "views"})


def test_a_run_config_with_every_key_leaves_a_base_what_it_fixes() -> None:
    """Flower's run config has every key, also those that the base fixes otherwise than their default."""
    given = without_defaults({**flat_parameters(), "ssa.shares_prior": 0.01})
    assert given == {"ssa.shares_prior": 0.01}
    assert parameters(parse("fedssa-shares"), given)["ssa"].model_dump()["criterion"] == "shares"
