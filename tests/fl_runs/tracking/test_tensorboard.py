"""TensorBoard's event files, read back with its own reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from simulation import run
from tests.fl_runs.tracking.tracked_runs import curves, stopped, tracked


def read_back(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return events


def scalars(events: EventAccumulator) -> dict[str, list[tuple[int, float]]]:
    return {key: [(one.step, one.value) for one in events.Scalars(key)] for key in events.Tags()["scalars"]}


def expected(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Event files hold single precision."""
    return {
        key: [(round, float(np.float32(value))) for round, value in one.items()] for key, one in curves(folder).items()
    }


def test_event_files_hold_the_numbers_and_the_configuration(tmp_path: Path) -> None:
    made = tracked(tmp_path / "run", "tensorboard")
    events = read_back(made.folder / "tensorboard")
    assert scalars(events) == expected(made.folder)
    (text,) = events.Tensors("config/text_summary")
    told = text.tensor_proto.string_val[0].decode()
    assert "| disco.a | 0.3 |" in told and "| model | mlp:8 |" in told


def test_a_resumed_run_goes_on_in_a_folder_of_the_users(tmp_path: Path) -> None:
    place = tmp_path / "boards"
    left = stopped(tmp_path / "run", f"tensorboard:{place}")
    assert len(list((place / "run").iterdir())) == 1
    run({"resume": str(left.folder)})
    assert [folder.name for folder in place.iterdir()] == ["run"] and not (left.folder / "tensorboard").exists()
    assert scalars(read_back(place / "run")) == expected(left.folder)


def test_two_runs_of_one_name_stay_apart(tmp_path: Path) -> None:
    place = tmp_path / "boards"
    made = [tracked(tmp_path / parent / "run", f"tensorboard:{place}", seed=seed) for seed, parent in enumerate("ab")]
    for one, name in zip(made, ("run", "run-2"), strict=True):
        assert scalars(read_back(place / name)) == expected(one.folder)
