"""What runs a sweep consists of, and every grid that cannot be as one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from fl_config.errors import ConfigError
from simulation.sweep.grid import jobs_of, parse_grid


def test_every_combination_has_its_options_and_its_folder() -> None:
    jobs = jobs_of({"seed": 5, "epochs": 2}, ["fedavg", "local"], {"lr": [0.1, 0.2]}, 2)
    assert [job.name for job in jobs] == [
        f"{strategy}-lr={lr}-seed{seed}" for strategy in ("fedavg", "local") for lr in (0.1, 0.2) for seed in (5, 6)
    ]
    assert jobs[3].values == {"seed": 6, "epochs": 2, "lr": 0.2, "strategy": "fedavg"}


def test_a_parameter_concerns_only_strategies_that_have_the_part() -> None:
    grid = {"disco.a": [0.1, 0.5], "fedprox.mu": [0.1, 1.0]}
    jobs = jobs_of({"disco.b": 0.2}, ["fedavg", "feddisco", "fedprox+disco"], grid, 1)
    count = [sum(job.values["strategy"] == name for job in jobs) for name in ("fedavg", "feddisco", "fedprox+disco")]
    assert count == [1, 2, 4]
    assert "disco.b" not in jobs[0].values and jobs[1].values["disco.b"] == 0.2
    assert jobs[-1].values["prox.mu"] == 1.0 and jobs[-1].values["disco.a"] == 0.5


def test_names_of_folders_hold_no_odd_signs_and_stay_apart() -> None:
    jobs = jobs_of({}, ["fedavg"], {"dataset": ["csv:/a b/c.csv", "csv:/a_b/c.csv"], "init": ["x" * 300, "y"]}, 1)
    names = [job.name for job in jobs]
    assert len(set(names)) == 4 and all(len(name) <= 130 and "/" not in name and " " not in name for name in names)


def test_values_are_numbers_words_or_a_list() -> None:
    assert parse_grid(["lr=0.05, 0.1", "model=lenet,linear"]) == {"lr": [0.05, 0.1], "model": ["lenet", "linear"]}
    assert parse_grid(['model=["mlp:64,64", "lenet"]']) == {"model": ["mlp:64,64", "lenet"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (["lr"], "KEY=VALUE"),
        (["=0.1"], "KEY=VALUE"),
        (["lr="], "KEY=VALUE"),
        (["lr=0.1", "lr=0.2"], "'lr' twice"),
        (["lr=[0.1"], "not valid TOML"),
    ],
)
def test_a_grid_that_cannot_be_read(text: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        parse_grid(text)


@pytest.mark.parametrize(
    ("values", "grid", "told"),
    [
        ({}, {"lrr": [0.1]}, "no option 'lrr' for the grid; did you mean 'lr'"),
        ({}, {"disko.a": [0.1]}, "no part 'disko' for 'disko.a'; did you mean 'disco'"),
        ({}, {"disco.aa": [0.1]}, "no parameter 'aa'; did you mean 'a'"),
        ({}, {"dyn.alpha": [0.1]}, "'dyn.alpha' of the grid belongs to 'dyn', which none of the strategies uses"),
        ({"dyn.alpha": 0.1}, {}, "'dyn.alpha' of --set belongs to 'dyn'"),
        ({"lr": 0.1}, {"lr": [0.1, 0.2]}, "'lr' is given both as an option and in the grid"),
        ({"disco.a": 0.1}, {"feddisco.a": [0.1, 0.2]}, "'disco.a' is given both"),
        ({}, {"lr": [0.1, 0.1]}, "0.1 twice for 'lr'"),
        ({}, {"lr": []}, "no value for 'lr'"),
        ({}, {"lr": [[0.1]]}, "numbers, words, true and false"),
        ({}, {"seed": [1, 2]}, "--seeds N"),
        ({}, {"strategy": ["fedavg"]}, "--strategies"),
        ({}, {"engine": ["ray", "inline"]}, "'engine' cannot be in the grid: it does not change the numbers"),
        ({}, {"out": ["a", "b"]}, "'out' cannot be in the grid"),
        ({}, {"sources": ["a", "b"]}, "'sources' cannot be in the grid"),
        ({"resume": "x"}, {}, "--resume cannot be used in a sweep: the same command"),
        ({"state-folder": "x"}, {}, "--state-folder cannot be used in a sweep"),
        ({"strategy": "fedavg"}, {}, "--strategy cannot be used in a sweep"),
    ],
)
def test_what_cannot_be_is_one_sentence(values: dict[str, Any], grid: dict[str, list[Any]], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        jobs_of(values, ["fedavg", "feddisco"], grid, 1)
    assert told in str(refused.value) and "\n" not in str(refused.value)
