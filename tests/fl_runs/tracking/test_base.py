"""What trackers are given of a record, and what they say where their library is missing."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_runs.tracking.base import Tracker, numbers_of


def test_numbers_are_every_scalar_by_its_key() -> None:
    record = {
        "round": 3,
        "global/accuracy": 0.5,
        "bytes_up": 7,
        "seconds": {"train": 1.5, "note": "x"},
        "cohort": [1, 2],
        "dropped": [],
        "global/loss": None,
        "flag": True,
        "text": "x",
    }
    assert numbers_of(record) == {"global/accuracy": 0.5, "bytes_up": 7.0, "seconds/train": 1.5}


def test_a_missing_library_is_one_sentence_with_the_command() -> None:
    class Nowhere(Tracker):
        name, library = "nowhere", "a_library_that_nobody_has"

    with pytest.raises(ConfigError, match=r"a_library_that_nobody_has.*pip install 'fedloom\[nowhere\]'"):
        Nowhere().check_installed()
