"""Clients with data of their own, in one process: who is let in, what is remembered where, and what a data file may leave out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict
from PIL import Image

import client_app
from clients.hosting import client_of
from fl_config.errors import ConfigError
from fl_config.options import as_flat
from fl_data import DataError, load
from fl_runs.plan import make_plan, plan_of_run
from fl_runs.resume import check_resumed
from server_app import open_server
from simulation import run
from simulation.engines.inline import InlineGrid
from tests.deploy.federation import CLASSES, FEATURES, SITES, private_data

RUN = {"partition": "private", "model": "mlp:4", "clients": 3, "rounds": 2, "strategy": "feddyn", "device": "cpu"}


def federated(folder: Path, name: str, *, nodes: dict[str, dict[str, Any]] | None = None, **more: Any) -> Path:
    """A run on private data on the inline engine; returns its folder."""
    plan = make_plan({**RUN, "dataset": f"npz:{folder / 'server.npz'}", "out": str(folder / name), **more})
    grid = InlineGrid(client_app.app, len(SITES), as_flat(plan.config))
    for context, site in zip(map(grid.context, grid.get_node_ids()), SITES, strict=True):
        own = {"name": site, "data": f"npz:{folder / site}.npz", "state": str(folder / "state")}
        context.node_config = (nodes or {}).get(site, own)
    open_server(plan).run(grid)
    return folder / name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    private_data(tmp_path)
    return tmp_path


def test_state_is_kept_by_run_and_client(folder: Path) -> None:
    first, second = federated(folder, "first"), federated(folder, "second")
    runs = [path for path in (folder / "state").iterdir() if path.is_dir()]
    assert len(runs) == 2, "two runs share what their clients remember"
    assert all({path.name for path in one.iterdir()} == set(SITES) for one in runs)
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()
    assert not (first / "partition.json").exists(), "the server wrote down how private data is spread"


def test_a_client_whose_data_does_not_fit_is_refused_by_name(folder: Path) -> None:
    x = np.zeros((6, FEATURES), dtype=np.float32)
    np.savez(folder / "odd.npz", x_train=x, y_train=np.arange(6), x_test=x[:0], y_test=np.zeros(0, int))
    odd = {"name": "site-b", "data": f"npz:{folder / 'odd.npz'}"}
    with pytest.raises(ConfigError, match=r"client site-b has the num classes 6, the server 3"):
        federated(folder, "classes", nodes={"site-b": odd})
    x = np.zeros((6, FEATURES + 1), dtype=np.float32)
    np.savez(folder / "odd.npz", x_train=x, y_train=np.arange(6) % CLASSES, x_test=x[:0], y_test=np.zeros(0, int))
    with pytest.raises(ConfigError, match=r"client site-b has the sample shape \[7\], the server \[6\]"):
        federated(folder, "shape", nodes={"site-b": odd})
    assert "site-b" in (folder / "shape" / "log.txt").read_text()


@pytest.mark.parametrize(
    ("node", "word"),
    [
        ({"name": "site-b"}, "no 'data'"),
        ({"data": "npz:nowhere.npz", "name": "site-b"}, "nowhere.npz"),
        ({"partition-id": 1}, "no 'data'"),
    ],
)
def test_a_node_without_data_is_a_sentence(folder: Path, node: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=f"only 2 can take part: .*{word}"):
        federated(folder, "run", nodes={"site-b": node})


def test_a_node_with_the_servers_file_has_nothing_to_train_on(folder: Path) -> None:
    node = {"name": "site-b", "data": f"npz:{folder / 'server.npz'}"}
    with pytest.raises(ConfigError, match="site-b has no training samples"):
        federated(folder, "run", nodes={"site-b": node})


def test_private_is_for_deployments(folder: Path) -> None:
    with pytest.raises(ConfigError, match="deploy submit"):
        run({**RUN, "dataset": f"npz:{folder / 'server.npz'}", "out": str(folder / "x")})
    with pytest.raises(ConfigError, match="the clients are none"):
        federated(folder, "skewed", target="skew:0")


def test_a_client_does_not_look_for_the_servers_file(folder: Path) -> None:
    config = as_flat(make_plan({**RUN, "dataset": "digits"}).config) | {"dataset": "npz:/only/on/the/server.npz"}
    node = {"name": "site-a", "data": f"npz:{folder / 'site-a.npz'}"}
    assert client_of(config, node, RecordDict(), None).client_id == "site-a"
    with pytest.raises(ConfigError, match="server.npz"):
        plan_of_run(config)


def test_a_submitted_run_resumes_only_its_own(folder: Path) -> None:
    first = federated(folder, "first")
    same = {**RUN, "dataset": f"npz:{folder / 'server.npz'}", "resume": str(first)}
    check_resumed(make_plan({**same, "rounds": 9}))
    with pytest.raises(ConfigError, match="'lr' is 0.05"):
        check_resumed(make_plan({**same, "lr": 0.5}))
    with pytest.raises(ConfigError, match="no run to resume"):
        check_resumed(make_plan({**same, "resume": str(folder / "none")}))


def test_sites_can_agree_on_how_images_are_normalised(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(8, 6, 6), dtype=np.uint8)
    labels = np.arange(8) % 2
    path = tmp_path / "a.npz"
    parts = {"x_train": images, "y_train": labels, "x_test": images[:0], "y_test": labels[:0]}
    np.savez(path, **parts, mean=[0.25], std=[0.5])
    assert (load(f"npz:{path}").mean, load(f"npz:{path}").std) == ((0.25,), (0.5,))
    for wrong in ({"mean": [0.1]}, {"mean": [0.1, 0.2], "std": [1, 1]}, {"mean": [0.1], "std": [0.0]}):
        np.savez(path, **parts, **wrong)
        with pytest.raises(DataError, match="a channel"):
            load(f"npz:{path}")
    np.savez(path, x_test=images, y_test=labels)
    served = load(f"npz:{path}")
    assert len(served.x_train) == 0 and served.shape == (1, 6, 6) and served.num_classes == 2
    np.savez(path, x_test=images[:0], y_test=labels[:0])
    with pytest.raises(DataError, match="no test samples"):
        load(f"npz:{path}")


def test_sites_may_keep_their_images_in_folders(tmp_path: Path) -> None:
    """One folder per class, empty where a site has no such image; the server has its own for testing."""
    rng = np.random.default_rng(3)
    for site, counts in {"site-a": (9, 3), "site-b": (2, 10), "site-c": (8, 0), "server": (6, 6)}.items():
        for number, (label, count) in enumerate(zip(("cat", "dog"), counts, strict=True)):
            folder = tmp_path / site / label
            folder.mkdir(parents=True)
            for image in range(count):
                pixels = rng.integers(120 * number, 120 * number + 100, size=(8, 8, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{image}.png")
    nodes = {site: {"name": site, "data": f"folder:{tmp_path / site}"} for site in SITES}
    more = {"dataset": f"folder:{tmp_path / 'server'}", "strategy": "feddisco", "rounds": 8, "lr": 0.05}
    folder = federated(tmp_path, "images", nodes=nodes, **more)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(line["cohort"] == list(SITES) for line in lines[1:])
    assert lines[-1]["global/accuracy"] == 1.0  # dark cats and bright dogs
    (tmp_path / "site-b" / "dog").rename(tmp_path / "site-b" / "bird")
    with pytest.raises(
        ConfigError, match=r"client site-b has the class names \['bird', 'cat'\], the server \['cat', 'dog'\]"
    ):
        federated(tmp_path, "other classes", nodes=nodes, **more)
