"""The table of parts: each in a slot that exists, described, with a default for every parameter."""

from __future__ import annotations

from fl_config.parts import SLOTS
from fl_strategies.parts import PARTS


def test_the_table_of_parts_is_whole() -> None:
    for name, part in PARTS.items():
        assert part.slot in SLOTS
        assert part.what, name
        for key, info in part.params.model_fields.items():
            assert info.description, f"{name}.{key} has no help text"
            assert not info.is_required(), f"{name}.{key} has no default"
