"""Before the training of a masked round: who agrees on what, what the server passes on, and when there is no sum."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from fl_protocol.messages import Setup, ShareSecrets, ShowKeys
from fl_protocol.types import ClientId
from fl_strategies.round.secure.agreement import Line, NoSum, agree, needed
from tests.fl_strategies.linear_federation import CLIENTS
from tests.fl_strategies.round.secure.masked_federation import Away, Wire, app, order_of


def line(away: Away | None = None) -> tuple[Line, Wire]:
    grid = Wire(app(away), CLIENTS, {})
    members: Any = SimpleNamespace(node=lambda client: client + 2)
    return Line(grid, members, 7, 60.0, threading.Event()), grid


def weigh(clients: Sequence[ClientId]) -> tuple[list[float], list[float]]:
    return [1 / len(clients)] * len(clients), [1 / len(clients)] * len(clients)


@pytest.mark.parametrize(
    ("asked", "share", "expected"),
    [(3, 0.66, 3), (4, 0.66, 3), (10, 0.66, 7), (10, 1.0, 10), (100, 0.51, 51), (5, 0.6, 3)],
)
def test_the_threshold_is_a_share_of_those_asked_and_three_at_least(asked: int, share: float, expected: int) -> None:
    assert needed(asked, share) == expected


def test_everybody_knows_everybodys_keys_and_the_server_no_share() -> None:
    made, grid = line()
    agreed = agree(made, range(CLIENTS), 4, weigh, Setup())
    assert agreed.clients == agreed.sharing == list(range(CLIENTS))
    assert len({key for peer in agreed.peers for key in vars(peer).values()}) == 3 * CLIENTS
    for sender, parcels in agreed.parcels.items():
        assert [bool(parcel) for parcel in parcels] == [place != sender for place in range(CLIENTS)]
    assert agreed.parcels_for(2) == [agreed.parcels[sender][2].decode() for sender in range(CLIENTS)]
    assert len({parcel for parcels in agreed.parcels.values() for parcel in parcels}) == CLIENTS * (CLIENTS - 1) + 1
    assert [type(order_of(asked)) for _, asked, _ in grid.seen] == [ShowKeys] * CLIENTS + [ShareSecrets] * CLIENTS
    assert {asked.metadata.group_id for _, asked, _ in grid.seen} == {"7"}
    sealed = sum(len(parcel) for parcels in agreed.parcels.values() for parcel in parcels)
    assert made.bytes_up == sealed + CLIENTS * 96 and made.bytes_down > 0


def test_who_says_nothing_is_left_out_and_said_why() -> None:
    made, _ = line(lambda number, order: number == 1 and isinstance(order, ShareSecrets))
    agreed = agree(made, range(CLIENTS), 4, weigh, Setup())
    assert (agreed.clients, agreed.sharing) == ([0, 1, 2, 3, 4], [0, 2, 3, 4])
    assert agreed.parcels_for(0)[1] == "" and "away" in made.silent[1]


def test_too_few_or_too_few_that_count_are_no_sum() -> None:
    made, _ = line(lambda number, order: number < 2)
    with pytest.raises(NoSum, match=r"3 of 5 clients showed keys, and 4 are needed \(.*away"):
        agree(made, range(CLIENTS), 4, weigh, Setup())
    made, _ = line()
    with pytest.raises(NoSum, match=r"2 of 2 clients showed keys, and 3 are needed \(too few were asked\)"):
        agree(made, range(2), 3, weigh, Setup())
    made, grid = line()
    with pytest.raises(NoSum, match="fewer than 3 clients have a weight above 0"):
        agree(made, range(CLIENTS), 4, lambda clients: ([0.5, 0.5, 0, 0, 0], [0.2] * 5), Setup())
    assert len(grid.seen) == CLIENTS, "secrets were shared for nothing"
