"""What a client answers, by name: declared where it is computed, and a sentence for everything else."""

from __future__ import annotations

import pytest

from clients.answers import Facts, number_of, vector_of
from clients.answers.base import NUMBERS, VECTORS, number, vector
from fl_config.errors import ConfigError
from tests.clients.answers.two_classes import facts


def test_an_answer_declares_itself_and_gets_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    number_of("initial_loss", facts())  # all of ours are read by now
    monkeypatch.setattr("clients.answers.NUMBERS", table := dict(NUMBERS))
    monkeypatch.setattr("clients.answers.base.NUMBERS", table)

    @number("scaled size")
    def scaled(known: Facts, by: float = 1.0) -> float:
        return len(known.data) * by

    assert number_of("scaled size", facts(), {"by": 2.5}) == 10.0
    assert number_of("scaled size", facts()) == 4.0
    assert isinstance(number_of("scaled size", facts()), float)


def test_numbers_and_vectors_are_kept_apart() -> None:
    """What may leave a client only inside a secure sum cannot be asked for as a number."""
    vector_of("class_counts", facts())
    assert not NUMBERS.keys() & VECTORS.keys()
    with pytest.raises(ConfigError, match="The server asks for 'class_counts', which this client does not answer"):
        number_of("class_counts", facts())
    with pytest.raises(ConfigError, match="The server asks for 'discrepancy'.* it knows class_counts"):
        vector_of("discrepancy", facts())


def test_declaring_hands_the_function_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clients.answers.base.VECTORS", table := {})
    made = vector("halves")(lambda known: known.counts // 2)
    assert table == {"halves": made} and made(facts()).tolist() == [1, 0, 0]
