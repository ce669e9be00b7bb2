"""Options: one declaration for flags, TOML, Flower's run config; every mistake a sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl_config.errors import ConfigError
from fl_config.options import FLAGS, Options, as_flat, options
from fl_config.toml import parse_assignment, read_toml, to_toml
from fl_runs.plan import make_plan, plan_of_run
from fl_runs.run_config import block, defaults
from fl_strategies.recipes import flat_parameters

ROOT = Path(__file__).resolve().parents[2]


def test_pyproject_holds_exactly_the_declared_defaults() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert block() in text, "run `make run-config`"
    table = tomllib.loads(text)["tool"]["flwr"]["app"]["config"]
    flat = {}
    for key, value in table.items():
        flat.update(
            {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
        )
    assert flat == defaults()


def test_every_flag_of_the_design_is_declared() -> None:
    wanted = """strategy dataset partition target model clients fraction rounds epochs batch-size lr lr-decay momentum weight-decay
        clip seed engine workers device gpus-per-client eval-every save-every round-timeout min-replies init out resume""".split()
    assert set(wanted) <= set(FLAGS)
    assert all(info.description for info in FLAGS.values())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"lrr": 1}, ["'lrr'", "did you mean 'lr'"]),
        ({"lr": -1}, ["'lr'", "greater than 0", "-1"]),
        ({"lr": float("nan")}, ["'lr'", "finite"]),
        ({"clients": "many"}, ["'clients'", "integer", "'many'"]),
        ({"clients": 0}, ["'clients'", "1"]),
        ({"fraction": 0}, ["'fraction'"]),
        ({"fraction": 1.5}, ["'fraction'", "1.5"]),
        ({"momentum": 1}, ["'momentum'"]),
        ({"batch-size": -1}, ["'batch-size'"]),
        ({"engine": "spark"}, ["'engine'", "'inline'", "'spark'"]),
        ({"held-out": 1}, ["'held-out'", "less than 1", "'auto'"]),
        ({"personal-epochs": -1}, ["'personal-epochs'"]),
        ({"round-timeout": 0}, ["'round-timeout'"]),
        ({"strategy": " "}, ["'strategy'"]),
    ],
)
def test_a_wrong_value_is_one_sentence(values: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        options(values)
    message = str(error.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        options({"lr": -1, "rounds": "x"})
    assert len(str(error.value).splitlines()) == 2


def test_toml_round_trip(tmp_path: Path) -> None:
    chosen = options({"lr": 0.3, "out": 'a "quoted" \\ path', "disco.a": 0.4, "asd.ntd": True, "strategy": "asd+disco"})
    path = tmp_path / "c.toml"
    path.write_text(to_toml(as_flat(chosen)), encoding="utf-8")
    assert options(read_toml(path)) == chosen


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")), max_size=40))
def test_any_text_survives_toml(text: str) -> None:
    assert tomllib.loads(to_toml({"out": text}))["out"] == text


def test_assignments() -> None:
    assert parse_assignment("disco.a=0.4") == ("disco.a", 0.4)
    assert parse_assignment("ssg.variant = main") == ("ssg.variant", "main")
    assert parse_assignment("asd.ntd=true") == ("asd.ntd", True)
    for wrong in ("disco", "a=1", "=3"):
        with pytest.raises(ConfigError, match=r"part\.name=value"):
            parse_assignment(wrong)


def test_part_parameters_are_checked_against_the_strategy() -> None:
    assert make_plan({"strategy": "fedssg", "fedssg.alpha": 0.2}).parameters["ssg"].model_dump()["alpha"] == 0.2
    with pytest.raises(ConfigError, match="belongs to 'disco', which the strategy 'fedavg' does not use"):
        make_plan({"disco.a": 0.3})
    with pytest.raises(ConfigError, match="no parameter 'aa'"):
        make_plan({"strategy": "feddisco", "disco.aa": 0.3})
    with pytest.raises(ConfigError, match="no part 'disko'.*did you mean 'disco'"):
        make_plan({"strategy": "feddisco", "disko.a": 0.3})
    with pytest.raises(ConfigError, match="'mu'.*-1"):
        make_plan({"strategy": "fedprox", "prox.mu": -1})


def test_flowers_run_config_with_every_default_is_accepted_and_a_partial_one_is_not() -> None:
    assert plan_of_run(defaults()).recipe.name == "fedavg"
    with pytest.raises(ConfigError, match="lacks"):
        plan_of_run({"strategy": "fedavg"})


def test_the_complete_configuration_names_the_parts_in_use() -> None:
    complete = make_plan({"strategy": "feddisco"}).complete()
    assert complete["disco.a"] == 0.5
    assert not any(key.startswith("asd.") for key in complete)
    assert set(as_flat(Options())) <= set(complete)
    assert all(isinstance(value, (bool, int, float, str)) for value in flat_parameters().values())
