"""A record that was made without checks is the same record."""

from __future__ import annotations

import pytest
from flwr.app import ConfigRecord

from fl_protocol.flower import record_of


def test_a_record_without_checks_is_the_record_with_them() -> None:
    values = {"lr": 0.1, "names": ["a", "b"]}
    made = record_of(ConfigRecord, values)
    assert made == ConfigRecord(dict(values))
    made["more"] = 1  # and it checks what comes later
    with pytest.raises(TypeError):
        made["odd"] = object()  # type: ignore[assignment]
    assert "more" not in values
