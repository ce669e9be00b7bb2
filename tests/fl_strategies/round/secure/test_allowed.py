"""Which strategies can do with the sum of the updates, as the parts say themselves; also parts that nobody here has written."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_config.parts import part, undone
from fl_strategies.bases import BASES
from fl_strategies.recipes import parse
from fl_strategies.round.secure.allowed import check_cohort, check_summable
from fl_strategies.server_update.base import ServerStep
from fl_strategies.weighting.base import Weighting

FINE = {"fedavg", "feddisco", "fedprox", "moon", "fedntd", "feddecorr", "fedsam", "asd", "fedavgm", "fedadam", "fedyogi", "fedadagrad", "fedexp"}  # fmt: skip


@pytest.mark.parametrize("base", list(BASES))
def test_every_base_is_allowed_or_refused_by_the_name_of_its_part(base: str) -> None:
    recipe = parse(base)
    if base in FINE:
        check_summable(recipe)
        return
    with pytest.raises(ConfigError, match="--secure-aggregation lets the server see the weighted sum") as problem:
        check_summable(recipe)
    assert repr(BASES[base].parts[0]) in str(problem.value)


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        ("scaffold", "'scaffold' needs every client's update by itself, or more than the update"),
        ("fedadam+afl", "'afl' weighs clients by what they learned, which must be known before they train"),
        ("fedprox+cuau", "'cuau' has clients keep or send something else than one model for all"),
        ("fedavg+df", "'df' needs every client's update by itself"),
    ],
)
def test_the_sentence_says_what_is_missing(strategy: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check_summable(parse(strategy))


def test_options_that_look_at_single_updates_are_refused() -> None:
    recipe = parse("fedavg")
    check_summable(recipe, ["server"])
    with pytest.raises(ConfigError, match="--score population needs the clients' models with equal weights"):
        check_summable(recipe, ["server", "population"])
    with pytest.raises(ConfigError, match="--max-update-norm has it look at each of them"):
        check_summable(recipe, max_update_norm=2.0)
    check_cohort(3)
    with pytest.raises(ConfigError, match="sums over 3 or more clients, but 2 would take part"):
        check_cohort(2)


def test_a_part_of_ones_own_declares_it_like_any_other() -> None:
    with undone():

        @part("stranger", slot="weighting", what="p_i = 1 / m")
        class Stranger(Weighting):
            pass

        @part("slow", slot="server optimizer", what="half a step")
        class Slow(ServerStep):
            pass

        for name in ("stranger", "slow"):
            with pytest.raises(ConfigError, match=repr(name)):
                check_summable(parse(f"fedavg+{name}"))
        Stranger.known_before_training, Slow.summed = True, ()
        check_summable(parse("fedavg+stranger+slow"))
