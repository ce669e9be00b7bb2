"""What every topology of a client shares: private arrays complete what comes, and are remembered under a name of their own."""

from __future__ import annotations

import numpy as np
import pytest

from clients.topologies import build_topology
from clients.topologies.base import PREFIX, ClientTopology, complete, remember
from fl_config.errors import ConfigError

NAMES, FC = ["trunk", "fc.weight", "fc.bias"], ["fc.weight", "fc.bias"]
ZERO, ONE, TWO = (np.array([float(value)]) for value in (0, 1, 2))


def test_the_base_shares_and_trains_everything_in_one_pass() -> None:
    base = ClientTopology(anything="is accepted")
    assert base.private(NAMES, FC) == set() and base.first_is_own({"1": {}})
    assert base.further_passes({"trunk": ONE}, {}, set(), lambda *_: pytest.fail("there is no further pass")) == {}


def test_private_arrays_stand_still_in_the_passes_that_are_not_the_clients_own() -> None:
    assert ClientTopology().still({"fc"}) == set() and ClientTopology().still({"fc"}, own=False) == {"fc"}


def test_the_memory_completes_a_message_and_wins_over_it() -> None:
    kept = remember({"trunk": ONE, "fc": TWO}, {"fc"})
    assert kept == {PREFIX + "fc": TWO}
    assert complete({"trunk": ONE}, kept, {"fc"}) == {"trunk": ONE, "fc": TWO}
    assert complete({"trunk": ONE, "fc": ZERO}, kept, {"fc"})["fc"] is TWO
    assert complete({"trunk": ONE, "fc": ZERO}, {}, {"fc"})["fc"] is ZERO  # never took part: as it came
    # What is not private comes from the server alone, and an objective's own vectors are no arrays of the model.
    assert complete({"trunk": ONE}, {PREFIX + "trunk": TWO, "h": ZERO}, set()) == {"trunk": ONE}


def test_a_private_array_that_is_nowhere_is_a_sentence() -> None:
    with pytest.raises(
        ConfigError, match="The private array 'a' is neither in the message nor in this client's memory"
    ):
        complete({"trunk": ONE}, {PREFIX + "trunk": ONE}, {"b", "a"})


def test_a_topology_that_nobody_knows_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="There is no client topology 'ring' here; there are babu, cuau, local, per"):
        build_topology("ring", {})
