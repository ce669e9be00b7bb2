"""A run from Python: its records as tables, what it is called, and the same again from its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import fedloom
from fl_runs.reading import RunFolderError
from fl_runs.result import Run
from tests.fl_runs.prediction.small_runs import small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return small_run(tmp_path_factory.mktemp("result") / "run", strategy="fedcuau")


def test_one_row_per_round(run: Run) -> None:
    frame = run.frame()
    assert frame.index.name == "round" and frame.index.tolist() == [0, 1, 2]
    assert frame["global/accuracy"].tolist() == [record["global/accuracy"] for record in run.metrics]
    assert frame.loc[2, "seconds/train"] == run.metrics[2]["seconds"]["train"]
    assert frame.loc[2, "cohort"] == [0, 1, 2, 3]


def test_one_row_per_client_and_evaluation(run: Run, tmp_path: Path) -> None:
    table = run.clients()
    assert table[["round", "client"]].values.tolist() == [[round, client] for round in (1, 2) for client in range(4)]
    last = run.metrics[-1]
    assert table[table["round"] == 2]["accuracy"].tolist() == last["personal/client_accuracy"]
    assert table[table["round"] == 2]["before"].tolist() == last["personal/client_before"]
    nobody = small_run(tmp_path / "plain", rounds=1).clients()
    assert nobody.empty and list(nobody) == ["round", "client"]


def test_the_same_from_its_folder(run: Run) -> None:
    again = fedloom.load(str(run.folder))
    assert again.metrics == run.metrics and again.finished and again.rounds == 2
    assert all(torch.equal(again.model[name], value) for name, value in run.model.items())
    assert again.config["strategy"] == "fedcuau" and again.summary["final"]["round"] == 2
    assert repr(again) == f"<Run fedcuau: 2 rounds, accuracy {run.metrics[-1]['global/accuracy']:.4f}, {run.folder}>"
    with pytest.raises(RunFolderError, match="is not a run folder"):
        fedloom.load(run.folder / "state")


def test_a_state_dict_that_torch_takes(run: Run) -> None:
    model = run.load_model()
    assert not model.training
    model.load_state_dict(run.model)
    assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 10)


def test_a_run_that_was_stopped(tmp_path: Path) -> None:
    class Stop(fedloom.Callback):
        def recorded(self, record: dict[str, object]) -> None:
            event.set()

    import threading

    event = threading.Event()
    run = small_run(tmp_path / "run", stop=event, callbacks=[Stop()])
    assert not run.finished and "not finished" in repr(run) and run.model == {} and run.rounds == 0
    with pytest.raises(ValueError, match="is not finished"):
        run.load_model()
