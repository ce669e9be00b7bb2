"""The order of clients, on which every sum of a round depends."""

from __future__ import annotations

from fl_protocol.types import ClientId, client_order


def test_numbers_come_by_number_and_before_names() -> None:
    clients: list[ClientId] = ["b", 10, "9", 2, "a", 0]
    assert sorted(clients, key=client_order) == [0, 2, 10, "9", "a", "b"]
