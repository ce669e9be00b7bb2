"""Which client a node is: its share of divided data, or the owner of its own, with its memory and its secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict

from clients.hosting import client_of
from clients.state import FolderMemory, RecordMemory
from fl_config.errors import ConfigError
from fl_config.options import Options, as_flat
from fl_data import load
from fl_protocol.messages import Setup

RUN = as_flat(Options(dataset="digits", model="mlp:8", clients=4, partition="iid", device="cpu", lr=0.3, seed=5))
KEY = "0123456789abcdef"


def simulated(number: int, setup: Setup | None = None, **options: Any) -> Any:
    return client_of({**RUN, **options}, {"partition-id": number}, RecordDict(), setup)


def hosted(folder: Path, setup: Setup | None = None, **node: Any) -> Any:
    path = folder / "own.npz"
    if not path.exists():
        x, y = np.random.default_rng(0).integers(0, 256, size=(30, 1, 8, 8), dtype=np.uint8), np.arange(30) % 10
        np.savez(path, x_train=x, y_train=y, x_test=x[:0], y_test=y[:0])
    where = {"name": "Klinik Süd", "data": f"npz:{path}", **node}
    return client_of({**RUN, "partition": "private"}, where, RecordDict(), setup or Setup(KEY))


def test_simulated_clients_have_the_whole_data_set_between_them() -> None:
    clients = [simulated(number, Setup()) for number in range(4)]
    assert [client.client_id for client in clients] == [0, 1, 2, 3]
    assert sum(len(client.data) for client in clients) == len(load("digits").y_train)
    assert sum(client.counts for client in clients).tolist() == np.bincount(load("digits").y_train).tolist()
    assert clients[0].settings.lr == 0.3 and clients[0].settings.seed == 5
    assert clients[0].secret is None and isinstance(clients[0].memory, RecordMemory)


def test_the_message_says_what_is_held_out_and_how_wide_the_projection_is() -> None:
    whole, part = simulated(1, Setup()), simulated(1, Setup(held_out=0.25))
    assert whole.held_out is None
    assert len(part.data) + len(part.held_out) == len(whole.data)
    assert len(part.held_out) == pytest.approx(len(whole.data) / 4, abs=10)  # rounded class by class
    wide = simulated(1, Setup(projection=32))
    assert wide.flat.theta.numel() > whole.flat.theta.numel()
    told = simulated(1, None, **{"held-out": 0.25})  # a foreign strategy says nothing, the run's options do
    assert len(told.held_out) == len(part.held_out)
    assert simulated(1, None, **{"held-out": "auto"}).held_out is None


def test_a_state_folder_keeps_memory_and_secret_by_client(tmp_path: Path) -> None:
    one = simulated(2, Setup(), **{"state-folder": str(tmp_path)})
    assert isinstance(one.memory, FolderMemory)
    one.memory.save(1, {"h": np.ones(2, dtype=np.float32)})
    assert (tmp_path / "2" / "1.safetensors").exists()
    assert len(one.secret()) == 32 and (tmp_path / "2.secret").exists()
    assert simulated(2, Setup(), **{"state-folder": str(tmp_path)}).secret() == one.secret()


def test_the_initial_model_is_the_seeds_also_after_training() -> None:
    one = simulated(0, Setup())
    before = {name: value.copy() for name, value in one.initial().items()}
    one.flat.theta += 1
    again = simulated(3, Setup())
    assert again.flat is one.flat  # one model per process
    for name, value in again.initial().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_host_has_its_own_data_and_remembers_by_run(tmp_path: Path) -> None:
    state = tmp_path / "state"
    one = hosted(tmp_path, state=str(state))
    assert (one.client_id, len(one.data), one.num_classes) == ("Klinik Süd", 30, 10)
    one.memory.save(1, {"h": np.ones(2, dtype=np.float32)})
    one.secret()
    assert {path.relative_to(state).as_posix() for path in state.rglob("*") if path.is_file()} == {
        f"{KEY}/Klinik%20S%C3%BCd/1.safetensors",
        "Klinik%20S%C3%BCd.secret",
    }
    assert hosted(tmp_path).secret is None
    assert len(hosted(tmp_path, Setup(KEY, held_out=0.5)).held_out) > 0


@pytest.mark.parametrize("run", ["../../elsewhere", "0123456789ABCDEF", KEY + "0", "x"])
def test_a_run_that_is_no_key_never_becomes_a_folder(tmp_path: Path, run: str) -> None:
    with pytest.raises(ConfigError, match="which is no key of a run"):
        hosted(tmp_path, Setup(run), state=str(tmp_path / "state"))
    assert not (tmp_path / "state").exists()


def test_a_node_that_lacks_something_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the partition 'iid', but this node's configuration has no 'partition-id'"):
        client_of(RUN, {"data": "npz:x"}, RecordDict(), Setup())
    private = {**RUN, "partition": "private"}
    with pytest.raises(ConfigError, match="the partition 'private', but this node's configuration has no 'data'"):
        client_of(private, {"partition-id": 0}, RecordDict(), Setup())
    with pytest.raises(ConfigError, match="needs a name"):
        client_of(private, {"data": "npz:x"}, RecordDict(), Setup())
    with pytest.raises(ConfigError, match="The run config lacks"):
        client_of({"partition": "iid"}, {"partition-id": 0}, RecordDict(), Setup())
