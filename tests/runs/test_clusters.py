"""FedCUAU in whole runs on small data: FedAvg's trajectory bit for bit, what travels, resuming, bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from fl_config.errors import ConfigError
from fl_strategies.checkpoint import load_checkpoint
from fl_strategies.round.state import RunState
from simulation import run
from simulation.runner import Run, prepare

SMALL: dict[str, Any] = {
    "dataset": "digits",
    "partition": "mixed:1000,0.1",
    "model": "mlp:16,8",
    "clients": 8,
    "fraction": 0.5,
    "rounds": 3,
    "epochs": 1,
    "batch-size": 20,
    "lr": 0.1,
    "momentum": 0.9,
    "held-out": 0.2,
    "personal-epochs": 0,
    "engine": "inline",
    "seed": 1,
}
FC_BYTES = 4 * (8 * 10 + 10)
HEADER = 128  # of a .npy array on the wire
Start = Callable[..., Run]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    count = 0

    def started(strategy: str, **options: Any) -> Run:
        nonlocal count
        count += 1
        return run({**SMALL, "out": str(tmp_path / str(count)), "strategy": strategy, **options})

    return started


def state_of(done: Run) -> RunState:
    return load_checkpoint(done.folder / "checkpoint")


@pytest.mark.parametrize(
    "more", [{}, {"model": "tiny-cnn", "cuau.clusters": 3, "lr-decay": 0.9, "rounds": 2, "held-out": 0.7}]
)
def test_trunk_and_last_head_follow_fedavg_bit_for_bit(start: Start, more: dict[str, Any]) -> None:
    plain = start("fedavg", **{key: value for key, value in more.items() if not key.startswith("cuau")})
    clustered = start("fedcuau", **more)
    last = more.get("cuau.clusters", 2)
    np.testing.assert_array_equal(state_of(clustered).omega, state_of(plain).omega)
    for a, b in zip(clustered.metrics, plain.metrics, strict=True):
        assert a[f"cuau/{last}/loss"] == b["global/loss"]
        assert a.get("train/loss") == b.get("train/loss")
    assert clustered.metrics[-1]["global/loss"] != plain.metrics[-1]["global/loss"]  # cluster 1 has its own head


@pytest.mark.parametrize("base", ["fedprox", "fedbabu"])
def test_other_bases_keep_their_trajectory_too(start: Start, base: str) -> None:
    np.testing.assert_array_equal(state_of(start(f"{base}+cuau")).omega, state_of(start(base)).omega)


def test_batch_statistics_follow_fedavg_too(start: Start) -> None:
    more = {"model": "resnet20:bn", "clients": 2, "fraction": 1.0, "rounds": 2, "held-out": 0.9}
    plain, clustered = state_of(start("fedavg", **more)), state_of(start("fedcuau", **more))
    np.testing.assert_array_equal(clustered.omega, plain.omega)
    assert clustered.buffers.keys() == plain.buffers.keys()
    for name, value in plain.buffers.items():
        np.testing.assert_array_equal(clustered.buffers[name], value, err_msg=name)
    own = [name for name in clustered.of("cuau") if name.startswith("head-1/")]
    assert own and all(name.startswith("head-1/body.layer3.") for name in own)


def test_stage_1_sends_nothing_down_and_only_the_last_layer_up(start: Start) -> None:
    first = start("fedcuau", rounds=1).metrics[0]
    assert first["cuau/stage1_bytes_up"] == first["bytes_up"] == 8 * (FC_BYTES + 2 * HEADER)
    assert first["cuau/stage1_bytes_down"] == first["bytes_down"] == 0
    assert first["cuau/client_ids"] == list(range(8))
    assert first["cuau/clusters"] == [1, 1, 1, 1, 2, 2, 2, 2]  # even clients first in `mixed`, skewed ones last


def test_a_client_gets_and_gives_the_heads_from_its_cluster_up(start: Start) -> None:
    done = start("fedcuau", **{"fraction": 0.125, "rounds": 6, "cuau.clusters": 3})
    clusters = dict(zip(done.metrics[0]["cuau/client_ids"], done.metrics[0]["cuau/clusters"], strict=True))
    model = sum(value.nbytes + HEADER for value in done.model.values())
    head = sum(value.nbytes + HEADER for name, value in done.model.items() if name.startswith(("body.fc2", "head")))
    seen = set()
    for line in done.metrics[1:]:
        own = clusters[line["cohort"][0]]
        seen.add(own)
        assert line["bytes_up"] == line["bytes_down"] == model + (3 - own) * head
        assert line["cuau/cluster_sizes"] == [int(own == j) for j in (1, 2, 3)]
    assert len(seen) > 1


def test_a_private_or_fixed_last_layer_does_not_travel(start: Start) -> None:
    for strategy in ("fedper+cuau", "fedbabu+cuau"):
        done = start(strategy, fraction=1.0, rounds=2)
        body = sum(value.nbytes + HEADER for name, value in done.model.items() if not name.startswith("head"))
        head = sum(value.nbytes + HEADER for name, value in done.model.items() if name.startswith("body.fc2"))
        last = done.metrics[2]
        assert last["bytes_up"] == last["bytes_down"] == 8 * body + 4 * head
        assert ("global/accuracy" in last) == (strategy == "fedbabu+cuau")


def test_a_round_without_a_clusters_clients_leaves_its_head(start: Start) -> None:
    options = {"fraction": 0.125, "rounds": 6}
    sizes = [line["cuau/cluster_sizes"] for line in start("fedcuau", **options).metrics[1:]]
    empty = next(number for number, (first, _) in enumerate(sizes, start=1) if number > 1 and first == 0)
    full = next(number for number, (first, _) in enumerate(sizes, start=1) if number > 1 and first)
    for number, same in ((empty, True), (full, False)):
        heads = [
            state_of(start("fedcuau", **{**options, "rounds": rounds})).of("cuau")["head-1"]
            for rounds in (number - 1, number)
        ]
        assert np.array_equal(*heads) == same


def test_a_resumed_run_is_the_run_itself(start: Start, tmp_path: Path) -> None:
    whole = start("fedper+cuau", rounds=4)
    half = start("fedper+cuau", rounds=2)
    again = run({"resume": str(half.folder), "rounds": 4, "engine": "inline"})
    for a, b in zip(whole.metrics, again.metrics, strict=True):
        assert {k: v for k, v in a.items() if k != "seconds"} == {k: v for k, v in b.items() if k != "seconds"}
    one, two = state_of(whole), state_of(again)
    np.testing.assert_array_equal(one.omega, two.omega)
    assert one.of("cuau").keys() == two.of("cuau").keys()
    for name, value in one.of("cuau").items():
        np.testing.assert_array_equal(value, two.of("cuau")[name], err_msg=name)


def test_the_saved_model_is_cluster_1s(start: Start) -> None:
    done = start("fedcuau", rounds=2)
    saved = load_file(done.folder / "model.safetensors")
    own = state_of(done).of("cuau")["head-1"]
    names = ["body.fc2.weight", "body.fc2.bias", "head.weight", "head.bias"]
    np.testing.assert_array_equal(np.concatenate([saved[name].reshape(-1) for name in names]), own)


def test_personalised_figures_by_cluster_and_how_unequal_they_are(start: Start) -> None:
    last = start("fedcuau", **{"personal-epochs": 1}).metrics[-1]
    accuracies, own = np.array(last["personal/client_accuracy"]), np.array(last["personal/client_cluster"])
    np.testing.assert_allclose(last["personal/cluster_accuracy"], [accuracies[own == j].mean() for j in (1, 2)])
    assert last["personal/worst_decile"] == accuracies.min()  # a tenth of 8 clients is one
    assert last["personal/std"] == pytest.approx(accuracies.std())
    assert last["cuau/cluster_accuracy"] == [last["global/accuracy"], last["cuau/2/accuracy"]]
    before = np.array(last["personal/client_before"])
    assert last["personal/before"] == pytest.approx(before.mean()) and (before != accuracies).any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cuau.clusters": 1}, "'clusters': expected greater than or equal to 2, but 1 was given"),
        ({"cuau.clusters": 9}, "cuau.clusters is 9, but there are only 8 clients"),
        ({"strategy": "feddyn+cuau"}, "'dyn' remembers something of one model per client"),
        ({"strategy": "scaffold+cuau"}, "'scaffold' remembers something"),
        ({"strategy": "moon+cuau"}, "'moon' remembers something"),
        ({"strategy": "fedcuau+ssa"}, "'ssa' needs whole client models"),
        ({"strategy": "fedcuau+confidence"}, "'confidence' needs whole client models"),
        ({"strategy": "feddf+cuau"}, "'df' needs whole client models"),
        ({"strategy": "fedavgm+cuau"}, "'avgm' moves one global model"),
        ({"strategy": "fednova+cuau"}, "'nova' moves one global model"),
        ({"strategy": "local+cuau"}, "under 'local' nothing is shared"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        prepare({**SMALL, "strategy": "fedcuau", **options})


def test_a_trunk_that_the_model_does_not_have_is_refused_before_anybody_trains(start: Start) -> None:
    with pytest.raises(ConfigError, match=r"trunk_end names 'body.fc3'.*did you mean 'body.fc"):
        start("fedcuau", **{"cuau.trunk_end": "body.fc3,head"})
    with pytest.raises(ConfigError, match="heads would be empty"):
        start("fedper+cuau", model="mlp:8")


def test_the_trunk_ends_where_it_is_told_to(start: Start) -> None:
    done = start("fedcuau", rounds=1, **{"cuau.trunk_end": "head"})
    assert state_of(done).of("cuau")["head-1"].size * 4 == FC_BYTES
