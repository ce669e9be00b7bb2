"""The models of a finished run are those of its last evaluation: the global one, and each client's own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import fedloom
from fl_config.errors import ConfigError
from fl_runs.prediction import KeptRun
from fl_runs.prediction.own_models import client_model, global_model, one_thread, scored_on
from fl_tasks import Classification, find_metric
from fl_tasks.evaluation import evaluate
from tests.fl_runs.prediction.small_runs import last, small_run

PERSONAL: dict[str, dict[str, Any]] = {
    "local": {},
    "fedper": {},
    "fedper, half of the clients": {"fraction": 0.5, "clients": 6, "rounds": 3},
    "fedbabu": {},  # a fixed head, fine-tuned
    "fedcuau": {},  # the head of a cluster, fine-tuned
    "fedper+cuau": {
        "model": "mlp:16,16",
        "set": {"cuau.trunk_end": "body.fc1"},
    },  # a private head around which clusters train
    "fedprox": {"held_out": 0.25},  # one model for all, scored on every client's data
    "scaffold": {"personal_epochs": 1, "lr_decay": 0.5},  # fine-tuned with the last round's rate
}


@pytest.mark.parametrize("name", PERSONAL)
def test_every_client_has_the_model_that_was_scored(name: str, tmp_path: Path) -> None:
    run = small_run(tmp_path / "run", strategy=name.partition(",")[0], **PERSONAL[name])
    moved = Path(shutil.move(run.folder, tmp_path / "elsewhere"))
    kept = KeptRun.open(moved)
    figures = []
    for client in last(run, "personal/client_ids"):
        model, held_out = client_model(kept, client), scored_on(kept, client)
        with one_thread():
            score = evaluate(model, held_out, Classification(), [find_metric("accuracy", Classification())])
        figures.append(score["accuracy"])
    assert figures == last(run, "personal/client_accuracy")
    assert len(set(figures)) > 1, "all clients alike would prove little"


def test_a_clients_model_is_its_own_copy(tmp_path: Path) -> None:
    kept = KeptRun.open(small_run(tmp_path / "run", strategy="fedper").folder)
    first = client_model(kept, 0)
    before = {name: value.clone() for name, value in first.state_dict().items()}
    second = client_model(kept, 1)
    assert all(torch.equal(before[name], value) for name, value in first.state_dict().items())
    assert not torch.equal(first.state_dict()["head.weight"], second.state_dict()["head.weight"])
    assert torch.equal(first.state_dict()["body.fc1.weight"], second.state_dict()["body.fc1.weight"])
    assert not first.training and not second.training


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    run = small_run(tmp_path / "run", strategy="fedper")
    with pytest.raises(ConfigError, match=r"fedper has no model for everybody.*--client \(0, 1, 2, \.\.\.\)"):
        global_model(KeptRun.open(run.folder))
    shutil.rmtree(run.folder / "state")
    with pytest.raises(ConfigError, match=r"'head\.\w+' is neither in the message nor in this client's memory"):
        run.load_model(client=1)


def test_the_global_model_is_the_saved_one(tmp_path: Path) -> None:
    run = small_run(tmp_path / "run")
    model = fedloom.load(run.folder).load_model()
    assert all(torch.equal(run.model[name], value) for name, value in model.state_dict().items())
