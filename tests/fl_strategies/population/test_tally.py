"""Numbers by client: a mapping like any other, kept as arrays that nobody writes into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from fl_strategies.population.tally import Tally

CLIENTS = some.one_of(
    some.integers(-5, 20), some.sampled_from(["3", "Krankenhaus Köln", 'site "a"/b']), some.just(2**64)
)


@given(some.lists(some.dictionaries(CLIENTS, some.integers(0, 1000))))
def test_updates_are_those_of_a_dict(updates: list[dict[Any, int]]) -> None:
    tally, plain = Tally(), {}
    for update in updates:
        tally.update(update)
        plain |= update
    assert tally == plain and len(tally) == len(plain)
    assert [tally.get(client, -1) for client in (*range(-6, 22), "3", "4", 2**64)] == [
        plain.get(client, -1) for client in (*range(-6, 22), "3", "4", 2**64)
    ]


def test_it_survives_plain_arrays_and_tells_numbers_from_names() -> None:
    tally = Tally({3: 2, "3": 7, "Krankenhaus Köln": 1, 2**64: 5, 0: 4})
    stored = tally.write("counts")
    assert stored.keys() == {"counts/clients", "counts/values", "counts/others"}
    assert stored["counts/clients"].tolist() == [0, 3] and stored["counts/values"].tolist() == [4, 2]
    assert all(array.dtype.kind in "iu" for array in stored.values())
    assert Tally.read({name: array.copy() for name, array in stored.items()}, "counts") == tally
    assert Tally.read(Tally().write("x"), "x") == {}


def test_a_copy_and_written_arrays_stay_as_they_were() -> None:
    tally = Tally({1: 1, "a": 1})
    kept, arrays = tally.copy(), tally.write("t")
    before = {name: array.copy() for name, array in arrays.items()}
    tally.update({1: 2, 5: 2, "a": 2, "b": 2})
    del tally[5], tally["b"]
    assert tally == {1: 2, "a": 2} and kept == {1: 1, "a": 1}
    assert all(np.array_equal(arrays[name], before[name]) for name in before)


def test_who_has_no_number_is_missing() -> None:
    tally = Tally({4: 1})
    tally["late"] = 2
    for absent in (3, 5, "4", 2**70):
        with pytest.raises(KeyError):
            tally[absent]
        with pytest.raises(KeyError):
            del tally[absent]
    assert list(tally) == [4, "late"] and repr(tally) == "Tally({4: 1, 'late': 2})"
