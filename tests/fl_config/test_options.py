"""Options: one declaration for flags, TOML, Flower's run config; every mistake a sentence."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_config.options import FLAGS, options


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
