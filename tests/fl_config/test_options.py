"""Options: one declaration for flags, TOML, Flower's run config; every mistake a sentence."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_config.options import (
    FLAGS,
    HOW,
    LENGTH,
    NUMBERS,
    PLACE,
    PRIVATE,
    Options,
    as_flat,
    changes_numbers,
    options,
    options_of_run,
    role_of,
)


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


def numbers_of(**given: object) -> dict[str, object]:
    """What a run's configuration says of its numbers."""
    return {key: value for key, value in as_flat(options(given)).items() if changes_numbers(key)}


@pytest.mark.parametrize(
    "how",
    [
        {"wait": 5.0},
        {"engine": "inline", "workers": 3, "ray-address": "auto", "gpus-per-client": 0.5, "device": "cpu"},
        {"save-every": 4, "round-timeout": 9.0},
        {"out": "here", "state-folder": "there", "resume": "before"},
    ],
)
def test_runs_that_differ_only_in_how_and_where_they_are_made_are_one_configuration(how: dict[str, object]) -> None:
    assert numbers_of(**how) == numbers_of()
    assert as_flat(options(how)) != as_flat(options({}))


@pytest.mark.parametrize(
    "numbers",
    [
        {"lr": 0.3},
        {"seed": 1},
        {"rounds": 3},
        {"min-replies": 2},
        {"disco.a": 0.1},
        {"dp-clip": 1.0},
        {"eval-every": 2},
    ],
)
def test_runs_that_differ_in_anything_else_are_two(numbers: dict[str, object]) -> None:
    assert numbers_of(**numbers) != numbers_of()


def test_every_flag_has_one_of_the_roles_and_parts_change_the_numbers() -> None:
    roles = {flag: role_of(flag) for flag in FLAGS}
    assert set(roles.values()) == {NUMBERS, LENGTH, HOW, PLACE}
    assert [flag for flag, role in roles.items() if role == LENGTH] == ["stop-at", "rounds", "dp-budget"]
    assert {flag for flag, role in roles.items() if role == PLACE} == {"out", "state-folder", "resume", "code"}
    assert role_of("save_every") == role_of("save-every") == HOW  # with underscores too
    assert role_of("disco.a") == role_of("anything else") == NUMBERS


def test_a_run_config_that_lacks_options_is_refused_and_a_whole_one_is_read() -> None:
    whole = {**as_flat(Options(lr=0.3)), "disco.a": 0.1}
    assert options_of_run(whole) == options(whole) and options_of_run(whole).lr == 0.3
    lacking = {key: value for key, value in whole.items() if key not in ("clip", "seed", "wait")}
    with pytest.raises(ConfigError, match="The run config lacks 'clip' and 2 more options: run the app with its own"):
        options_of_run(lacking)
    assert options({"partition": PRIVATE}).partition == PRIVATE


def test_a_wrong_value_of_a_part_is_told_by_its_dotted_key() -> None:
    with pytest.raises(ConfigError, match=r"Option 'disco\.a': expected .*, but \[1\] was given\."):
        options({"disco.a": [1]})
    assert options({"disco.a": float("inf")}).parts == {"disco.a": float("inf")}  # the part refuses it, by name
