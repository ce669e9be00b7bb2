"""TOML as it is read and written here, and assignments of the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl_config.errors import ConfigError
from fl_config.options import as_flat, options
from fl_config.toml import parse_assignment, read_toml, to_toml


def test_toml_round_trip(tmp_path: Path) -> None:
    chosen = options({"lr": 0.3, "out": 'a "quoted" \\ path', "disco.a": 0.4, "asd.ntd": True, "strategy": "asd+disco"})
    path = tmp_path / "c.toml"
    path.write_text(to_toml(as_flat(chosen)), encoding="utf-8")
    assert options(read_toml(path)) == chosen


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")), max_size=40))
def test_any_text_survives_toml(text: str) -> None:
    assert tomllib.loads(to_toml({"out": text}))["out"] == text


def test_assignments() -> None:
    assert parse_assignment("disco.a=0.4") == ("disco.a", 0.4)
    assert parse_assignment("ssg.variant = main") == ("ssg.variant", "main")
    assert parse_assignment("asd.ntd=true") == ("asd.ntd", True)
    for wrong in ("disco", "a=1", "=3"):
        with pytest.raises(ConfigError, match=r"part\.name=value"):
            parse_assignment(wrong)
