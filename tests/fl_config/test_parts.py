"""Parts declare themselves: one name, one slot, halves that find each other, an order that is nobody's to keep by hand."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from fl_config import parts
from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_config.parts import SLOTS, declared, find, half, lookup, part, read_rooms


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No part is known here but those that the test declares."""
    monkeypatch.setattr(parts, "_declared", {})
    monkeypatch.setattr(parts, "_halves", {})


class Strength(Params):
    mu: float = 0.1


class OnClient:
    kind: ClassVar[str] = "objective"
    Params: ClassVar[type[Params]] = Params
    remembers = False


class OnServer:
    kind: ClassVar[str] = "server step"
    Params: ClassVar[type[Params]] = Params
    needs_target = False


def made(base: Any, **own: Any) -> Any:
    return type("Made", (base,), {**own, "__module__": own.pop("where", __name__)})


def test_both_halves_of_a_part_are_found_whichever_is_read_first() -> None:
    server = half("pull")(made(OnServer, Params=Strength))
    client = part("pull", slot="drift", what="pulls", paper="Us, 2026", year=2026)(made(OnClient))
    known = lookup("pull")
    assert (known.slot, known.what, known.paper, known.year, known.plugin) == ("drift", "pulls", "Us, 2026", 2026, True)
    assert known.half("objective") is client is find("objective", "pull")
    assert known.half("server step") is server is find("server step", "pull")
    assert known.half("weighting") is None
    assert known.params is Strength  # whichever half declares them


def test_a_part_says_what_one_of_its_halves_says() -> None:
    part("pull", slot="drift", what="pulls")(made(OnClient, remembers=True))
    half("pull")(made(OnServer))
    assert lookup("pull").says("remembers") is True
    assert lookup("pull").says("needs_target") is None  # False does not count
    assert lookup("pull").says("never heard of") is None
    assert lookup("pull").params is Params


def test_parts_come_by_slot_then_by_year_then_by_name() -> None:
    for name, slot, year in (
        ("new", "objective", 2024),
        ("b", "objective", 2020),
        ("a", "objective", 2020),
        ("undated", "objective", None),
        ("weigh", "weighting", 2030),
        ("around", "topology", 2030),
    ):
        dated = {} if year is None else {"year": year}
        part(name, slot=slot, what="something", **dated)(made(OnClient))
    assert list(declared()) == ["around", "weigh", "a", "b", "new", "undated"]
    assert SLOTS.index("topology") < SLOTS.index("weighting") < SLOTS.index("objective")


def test_a_slot_that_does_not_exist_and_a_name_that_is_taken_are_sentences() -> None:
    with pytest.raises(ConfigError, match="'pull' names the slot 'drifts', but slots are topology, drift, "):
        part("pull", slot="drifts", what="pulls")
    part("pull", slot="drift", what="pulls")(made(OnClient, where="ours.pull"))
    with pytest.raises(ConfigError, match="called 'pull', one in ours.pull and one in theirs.pull: rename one"):
        part("pull", slot="drift", what="pulls too")(made(OnClient, where="theirs.pull"))
    assert lookup("pull").what == "pulls"
    again = part("pull", slot="drift", what="pulls")(made(OnClient, where="ours.pull"))  # the module is read anew
    assert find("objective", "pull") is again


def test_an_unknown_half_is_a_sentence_with_those_that_are_known() -> None:
    for name in ("push", "pull"):
        part(name, slot="drift", what="moves")(made(OnClient))
    half("other")(made(OnServer))
    with pytest.raises(ConfigError, match=r"There is no objective 'pul' here; there are pull, push\."):
        find("objective", "pul")
    with pytest.raises(ConfigError, match="no objective 'other'"):
        find("objective", "other")


def test_every_module_of_a_room_is_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "their_room"
    room.mkdir()
    (room / "__init__.py").write_text("")
    for name in ("first", "second"):
        (room / f"{name}.py").write_text(
            "from fl_config.parts import part\n"
            f"@part({name!r}, slot='weighting', what='theirs')\n"
            "class Made:\n    kind = 'weighting'\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    read_rooms(("their_room",))
    assert list(declared()) == ["first", "second"]
