"""Recipes that would undo the protection are refused by name."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_strategies.bases import BASES
from fl_strategies.recipes import parameters, parse
from fl_strategies.round.privacy.covered import check_central, check_local

AVERAGES = {
    "fedavg", "fedprox", "fedavgm", "fedadam", "fedyogi", "fedadagrad", "moon", "feddecorr", "fedntd", "fedsam", "feddisco", "asd",
}  # fmt: skip


@pytest.mark.parametrize("base", sorted(BASES))
def test_only_steps_on_the_average_go_with_central_noise(base: str) -> None:
    recipe = parse(base)
    if base in AVERAGES:
        check_central(recipe, sampled=False)
        return
    with pytest.raises(ConfigError, match=r"--dp central protects the weighted average.*'\w+' makes use of more"):
        check_central(recipe, sampled=False)


@pytest.mark.parametrize(
    ("strategy", "named"),
    [("fedavg+ssa", "'ssa'"), ("fedavgm+nova", "'nova'"), ("fedprox+exp", "'exp'"), ("fedavg+df", "'df'")],
)
def test_the_part_is_named(strategy: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        check_central(parse(strategy), sampled=False)


def test_secret_sampling_needs_equal_weights() -> None:
    check_central(parse("fedavg+uniform"), sampled=True)
    for strategy, named in (("fedavg", "'size'.*fedavg\\+uniform"), ("feddisco", "'disco'")):
        with pytest.raises(ConfigError, match=named):
            check_central(parse(strategy), sampled=True)


def test_local_noise_covers_one_model() -> None:
    for strategy in ("feddisco", "fedexp", "fednova"):
        check_local(parse(strategy), parameters(parse(strategy), {}))
    with pytest.raises(ConfigError, match="'scaffold'"):
        check_local(parse("scaffold"), parameters(parse("scaffold"), {}))
