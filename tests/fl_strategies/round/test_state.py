"""What a run needs to go on: by part, under a key that hosts accept."""

from __future__ import annotations

import numpy as np

from clients.hosting import RUN_KEY
from fl_strategies.round.state import RunState, new_key


def test_a_part_that_never_wrote_remembers_nothing() -> None:
    own = {"H": np.ones(2)}
    state = RunState(0, np.zeros(2, dtype=np.float32), {}, {"dyn": own})
    assert state.of("dyn") is own and state.of("afl") == {}
    assert list(state.parts) == ["dyn"]  # asking leaves no trace


def test_every_run_has_a_key_of_its_own_that_hosts_accept_as_a_folder() -> None:
    keys = {new_key() for _ in range(20)}
    assert len(keys) == 20 and all(RUN_KEY.fullmatch(key) for key in keys)
    first, second = (RunState(0, np.zeros(1, dtype=np.float32), {}) for _ in range(2))
    assert first.key != second.key and first.acked is not second.acked
