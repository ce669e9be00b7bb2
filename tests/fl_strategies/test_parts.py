"""The table of parts: each in a slot that exists, described, with a default for every parameter."""

from __future__ import annotations

import pytest

from fl_config import parts
from fl_config.params import Params
from fl_config.parts import SLOTS, part
from fl_strategies.parts import PARTS


def test_the_table_of_parts_is_whole() -> None:
    for name, one in PARTS.items():
        assert one.slot in SLOTS
        assert one.what, name
        for key, info in one.params.model_fields.items():
            assert info.description, f"{name}.{key} has no help text"
            assert not info.is_required(), f"{name}.{key} has no default"


def test_the_table_is_in_the_order_of_slots_and_every_slot_has_a_part() -> None:
    order = [SLOTS.index(one.slot) for one in PARTS.values()]
    assert order == sorted(order) and set(order) == set(range(len(SLOTS)))
    topologies = [name for name, one in PARTS.items() if one.slot == "topology"]
    assert set(topologies) == {"shared", "local", "per", "babu", "cuau"} and len(PARTS) == len(list(PARTS))


def test_a_part_is_there_from_the_moment_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(PARTS)
    monkeypatch.setattr(parts, "_declared", dict(parts._declared))
    monkeypatch.setattr(parts, "_halves", dict(parts._halves))
    part("theirs", slot="weighting", what="theirs")(type("Theirs", (), {"kind": "weighting", "Params": Params}))
    assert "theirs" in PARTS and PARTS["theirs"].what == "theirs" and len(PARTS) == count + 1
    with pytest.raises(KeyError):
        _ = PARTS["nobody's"]
