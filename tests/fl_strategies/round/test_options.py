"""Sections of a strategy's arguments: given whole, by field, or both; what is none of them is a sentence."""

from __future__ import annotations

import inspect
import threading
from dataclasses import FrozenInstanceError, fields

import pytest

from fl_config.errors import ConfigError
from fl_strategies.round.options import KEYWORDS, SECTIONS, Hooks, Participation, Schedule, sections_of
from fl_strategies.strategy import ComposedStrategy


def test_fields_find_their_sections() -> None:
    stop = threading.Event()
    made = sections_of({"fraction_train": 0.5, "seed": 3, "stop": stop, "wait": 2.0})
    assert made["participation"] == Participation(fraction_train=0.5, wait=2.0)
    assert made["schedule"] == Schedule(seed=3)
    assert made["hooks"].stop is stop
    assert sections_of({})["participation"] == Participation()


def test_a_field_wins_over_the_section_that_it_belongs_to() -> None:
    given = Participation(fraction_train=0.5, min_replies=4)
    assert sections_of({"participation": given})["participation"] is given
    made = sections_of({"participation": given, "fraction_train": 0.25})
    assert made["participation"] == Participation(fraction_train=0.25, min_replies=4)
    assert given.fraction_train == 0.5


def test_every_strategy_stops_by_an_event_of_its_own() -> None:
    assert sections_of({})["hooks"].stop is not sections_of({})["hooks"].stop
    assert sections_of({})["schedule"] == Schedule() and isinstance(sections_of({})["hooks"], Hooks)


def test_an_unknown_argument_and_a_share_that_is_none_are_sentences() -> None:
    with pytest.raises(ConfigError, match="A strategy has no argument 'fraction_trian'; did you mean 'fraction_train'"):
        sections_of({"fraction_trian": 0.5})
    for wrong in (0.0, -0.1, 1.1):
        with pytest.raises(ConfigError, match=f"share above 0 and up to 1, but {wrong} was given"):
            Participation(fraction_train=wrong)
    assert Participation(fraction_train=1.0).fraction_train == 1.0


def test_no_name_means_two_things_and_all_are_keywords() -> None:
    names = [one.name for section in SECTIONS.values() for one in fields(section)]
    assert len(names) == len(set(names))
    taken = set(inspect.signature(ComposedStrategy.__init__).parameters) - {"self", "strategy", "sections"}
    assert set(KEYWORDS) == {*names, *SECTIONS, *taken} and not taken & set(names)


def test_what_a_run_was_started_with_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Participation().wait = 1.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Schedule().seed = 1  # type: ignore[misc]
