"""How many examples of each class a client has."""

from __future__ import annotations

from clients.answers import vector_of
from tests.clients.answers.two_classes import facts


def test_every_class_is_counted_also_one_that_the_client_never_saw() -> None:
    assert vector_of("class_counts", facts()).tolist() == [3, 1, 0]
