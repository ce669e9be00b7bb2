"""Whole runs of what golden runs leave out: BatchNorm's statistics on the server, the threads that it takes, and the summary."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from fl_data import Samples, load
from fl_models import build
from simulation import run


@pytest.fixture
def images(tmp_path: Path) -> str:
    """Few and small images, for a model whose layers are many."""
    random = np.random.default_rng(1)
    y = np.arange(40) % 2
    x = (random.integers(0, 100, size=(40, 8, 8)) + 100 * y[:, None, None]).astype(np.uint8)
    np.savez(tmp_path / "images.npz", x_train=x[:30], y_train=y[:30], x_test=x[30:], y_test=y[30:])
    return f"npz:{tmp_path / 'images.npz'}"


def test_the_server_evaluates_with_the_averaged_running_statistics(tmp_path: Path, images: str) -> None:
    options = {"model": "resnet20:bn", "clients": 2, "partition": "iid", "rounds": 2, "batch-size": 5, "lr": 0.05}
    threads = torch.get_num_threads()
    result = run({**options, "dataset": images, "engine": "inline", "device": "cpu", "out": str(tmp_path / "run")})
    assert torch.get_num_threads() == threads, "the server took all cores and did not give them back"
    dataset = load(images)
    model = build("resnet20:bn", dataset.shape, dataset.num_classes, seed=0)
    fresh = {name: value.numpy().copy() for name, value in model.state_dict().items() if "running" in name}
    assert fresh and all(np.abs(result.model[name].numpy() - value).max() > 1e-3 for name, value in fresh.items())
    model.load_state_dict(result.model)
    x, y = Samples(dataset.x_test, dataset.y_test, dataset).batch(slice(None))
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model.eval()(x), y)  # type: ignore[arg-type]
    assert result.metrics[-1]["global/loss"] == pytest.approx(float(loss), rel=1e-4)


def test_a_summary_says_how_long_it_took_and_with_what(tmp_path: Path) -> None:
    began = time.monotonic()
    options = {"dataset": "digits", "model": "linear", "clients": 2, "rounds": 1, "engine": "inline", "device": "cpu"}
    result = run({**options, "out": str(tmp_path / "run")})
    summary = json.loads((result.folder / "summary.json").read_text())
    assert 0 < summary["seconds"] <= time.monotonic() - began + 0.01
    assert summary["seconds"] >= sum(result.metrics[1]["seconds"].values()) - 0.01
    assert (
        summary["versions"]["torch"] == torch.__version__.split("+")[0]
        or summary["versions"]["torch"] == torch.__version__
    )
    assert {"python", "flwr", "numpy"} <= summary["versions"].keys()
    assert (summary["rounds"], summary["finished"], summary["final"]["round"]) == (1, True, 1)
    best = max(result.metrics, key=lambda record: record["global/accuracy"])
    assert summary["best"]["global/accuracy"] == best["global/accuracy"]
