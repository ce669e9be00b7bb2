"""FedCUAU where nobody looked: what its heads cost on the wire, clients without a step, and its checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_strategies.clustering.cuau import CuauParams
from fl_strategies.clustering.placement import Placement, Probe
from simulation import run

RUN = {
    "dataset": "digits", "model": "mlp:8,6", "partition": "dirichlet:0.3", "clients": 6, "rounds": 2, "lr": 0.1,
    "batch-size": 64, "engine": "inline", "device": "cpu", "eval-every": 2,
}  # fmt: skip


def test_heads_are_counted_in_both_directions(tmp_path: Path) -> None:
    plain = run({**RUN, "strategy": "fedavg", "out": str(tmp_path / "fedavg")}).metrics[2]
    clustered = run({**RUN, "strategy": "fedcuau", "out": str(tmp_path / "fedcuau")}).metrics[2]
    first = clustered["cuau/cluster_sizes"][0]
    assert 0 < first < 6
    up, down = (clustered[key] - plain[key] for key in ("bytes_up", "bytes_down"))
    assert up == down > 0, "a client of cluster 1 gets and sends one head more than the others"
    assert up % first == 0
    head = up // first
    assert head < plain["bytes_up"] / 6 < 6 * head


def probe(number: int, steps: int) -> Probe:
    return Probe(client=number, update=np.array([float(number), 1.0]), size=4, steps=steps, checksum=1)


@pytest.mark.parametrize(("steps", "divisor"), [(0, 1), (1, 1), (2, 2)])
def test_normalised_updates_are_divided_by_the_steps_if_there_were_any(steps: int, divisor: int) -> None:
    placement = Placement()
    placement.add([probe(number, steps) for number in range(3)], CuauParams(normalise_cu=True))
    assert placement.scores == pytest.approx({0: 1 / divisor, 1: 0.0, 2: 1 / divisor})


def test_a_placement_is_read_as_it_was_written() -> None:
    placement = Placement()
    placement.add([probe(number, 1) for number in range(4)], CuauParams())
    again = Placement.read(placement.write())
    assert (again.clusters, again.scores) == (placement.clusters, placement.scores)
    assert again.founded.keys() == placement.founded.keys() == {"au", "borders", "checksum"}
    later = [Placement.read(placement.write()), placement]
    for one in later:
        one.add([probe(9, 1)], CuauParams())
    assert later[0].clusters == later[1].clusters
