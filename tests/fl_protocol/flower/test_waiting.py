"""A message whose arrays are late is looked for soon, and only for as long as it was said."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from flwr.supercore.inflatable.inflatable_utils import ObjectPullError, ObjectUnavailableError, pull_objects

from fl_protocol.flower import wait_for_parts
from fl_protocol.flower.waiting import PULLS


@pytest.fixture(autouse=True)
def flowers_own() -> Iterator[None]:
    """Leaves Flower as it was."""
    before = [dict(pull.__kwdefaults__) for pull in PULLS]
    yield
    for pull, values in zip(PULLS, before, strict=True):
        pull.__kwdefaults__.update(values)


def test_an_array_that_is_late_is_found_without_a_pause_of_a_second() -> None:
    wait_for_parts()
    began = time.monotonic()

    def arrives(_: str) -> bytes:
        if time.monotonic() - began < 0.2:
            raise ObjectUnavailableError("late")
        return b"here"

    assert pull_objects(["a"], arrives) == {"a": b"here"}
    assert time.monotonic() - began < 0.9


def test_an_array_that_never_comes_is_given_up_in_time() -> None:
    def never(_: str) -> bytes:
        raise ObjectUnavailableError("its host died")

    wait_for_parts(0.3)
    began = time.monotonic()
    with pytest.raises(ObjectPullError):
        pull_objects(["a"], never)
    assert 0.2 < time.monotonic() - began < 1.5
