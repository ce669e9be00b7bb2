"""Which parts have a meaning together: exact sentences for those that have none, also for parts that nobody here has written."""

from __future__ import annotations

from typing import Any

import pytest

from fl_config.errors import ConfigError
from fl_config.parts import Part
from fl_strategies.meaning import check_meaning
from fl_strategies.parts import PARTS
from fl_strategies.server_update.base import ServerStep
from fl_strategies.topologies.base import Topology
from fl_strategies.weighting.base import Weighting


def check(words: str, plugins: str = "", *strangers: Part) -> None:
    check_meaning("it", [*(PARTS[name] for name in words.split()), *strangers], plugins.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("disco ssa", "The strategy 'it' has two parts for the weighting, 'disco' and 'ssa'; keep one."),
        ("adam yogi size", "The strategy 'it' has two parts for the server optimizer, 'adam' and 'yogi'; keep one."),
        ("dyn dc size", "The strategy 'it' has two parts for the drift, 'dyn' and 'dc'; keep one."),
        ("per babu size", "The strategy 'it' has two parts for the topology, 'per' and 'babu'; keep one."),
        ("speed sam size", "The strategy 'it' has two local optimisers, 'speed' and 'sam'; keep one."),
        (
            "dyn per size",
            "The strategy 'it' has no meaning: 'dyn' corrects the drift of one shared model, and under 'per' a part of the "
            "model is not shared.",
        ),
        (
            "babu df size",
            "The strategy 'it' has no meaning: 'df' needs whole client models, and 'babu' keeps a part of them private.",
        ),
        (
            "per ssa",
            "The strategy 'it' has no meaning: 'ssa' needs whole client models, and 'per' keeps a part of them private.",
        ),
        (
            "local cuau size",
            "The strategy 'it' has no meaning: under 'local' nothing is shared, so 'cuau' has nothing to divide.",
        ),
        (
            "cuau moon size",
            "The strategy 'it' has no meaning: 'moon' remembers something of one model per client, and under 'cuau' a client "
            "trains several.",
        ),
        (
            "cuau nova size",
            "The strategy 'it' has no meaning: 'nova' moves one global model, and 'cuau' has one head per cluster to average.",
        ),
        (
            "cuau confidence",
            "The strategy 'it' has no meaning: 'confidence' needs whole client models, and 'cuau' has clients train parts of "
            "several.",
        ),
    ],
)
def test_what_has_no_meaning_is_one_sentence(words: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        check(words)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "words", ["prox moon asd ntd decorr size", "cuau per size", "cuau babu disco", "dyn adam nova df ssa"]
)
def test_what_has_a_meaning_passes(words: str) -> None:
    check(words)


def test_a_weighting_that_nobody_asked_for_may_stand_where_nothing_is_averaged() -> None:
    check("local size")
    with pytest.raises(ConfigError, match="under 'local' nothing is averaged, so 'size' has nothing to do"):
        check("local size", "size")
    check("local prox size", "prox")


def stranger(slot: str, base: Any, **traits: bool) -> Part:
    return Part("theirs", slot, "a part of somebody else", halves={base.kind: type("Theirs", (base,), traits)})


@pytest.mark.parametrize(
    ("words", "part", "sentence"),
    [
        ("dyn size", stranger("topology", Topology, private=True), "'dyn' corrects .* under 'theirs' a part"),
        ("disco", stranger("topology", Topology, shares_nothing=True), "under 'theirs' nothing is averaged"),
        ("vra size", stranger("topology", Topology, several_models=True), "'vra' remembers .* under 'theirs'"),
        ("per", stranger("weighting", Weighting, needs_target=True), "'theirs' needs whole client models, and 'per'"),
        ("cuau size", stranger("polish", ServerStep), "'theirs' needs whole client models, and 'cuau'"),
    ],
)
def test_a_part_counts_by_what_it_says_of_itself_and_not_by_its_name(words: str, part: Part, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check(words, words, part)


def test_a_stranger_that_says_nothing_of_itself_may_stand_anywhere() -> None:
    check("dyn size", "", stranger("topology", Topology))
    check("cuau per", "", stranger("weighting", Weighting))
