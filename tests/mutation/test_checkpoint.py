"""Names in a checkpoint: those of parts and arrays come back whole, whatever is in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fl_strategies.checkpoint import load_checkpoint, save_checkpoint
from fl_strategies.population.tally import Tally
from fl_strategies.round.state import RunState


def test_slashes_and_quotes_in_names_survive(tmp_path: Path) -> None:
    """FedCUAU files a head's buffers as head-1/NAME, and a client may be called anything."""
    arrays = {"head-1": np.ones(2), "head-1/norm/mean": np.zeros(3)}
    names: list[int | str] = [3, "3", 'site "a"/b', "step/x"]
    state = RunState(
        round=2,
        omega=np.zeros(4, dtype=np.float32),
        buffers={"step/odd": np.ones(1, dtype=np.float32)},
        parts={"cuau": dict(arrays), "disco": {"sum:class/counts": np.arange(3)}},
        acked=Tally({name: round for round, name in enumerate(names)}),
        client_models={name: np.full(4, place, dtype=np.float32) for place, name in enumerate(names)},
    )
    save_checkpoint(tmp_path, state)
    read = load_checkpoint(tmp_path)
    assert read.key == state.key
    assert read.acked == state.acked
    assert list(read.parts) == ["cuau", "disco"]
    for ours, theirs in (
        (read.parts["cuau"], state.parts["cuau"]),
        (read.buffers, state.buffers),
        (read.parts["disco"], state.parts["disco"]),
        (read.client_models, state.client_models),
    ):
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)  # type: ignore[index]
