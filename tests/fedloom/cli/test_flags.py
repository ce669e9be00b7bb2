"""Flags of the declared options: which win, and how their values are read."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from fedloom.cli.flags import GROUPS, VISIBLE, add_options, comma_list, given_options
from fl_config.errors import ConfigError
from fl_config.options import FLAGS


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(words)


def test_every_option_has_a_flag_and_says_its_default() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    help = " ".join(parser.format_help().split())
    assert [name for name in VISIBLE if f"--{name} " not in help and f"--{name}, " not in help] == []
    assert set(FLAGS) - set(VISIBLE) == {"sources", "code"}, "the run sets these itself"
    assert "(default: fashion-mnist)" in help and "[fixed, bernoulli, poisson] (default: fixed)" in help
    assert "--no-mixed-precision" in help


def test_every_flag_stands_in_one_group_with_a_placeholder_of_its_own() -> None:
    grouped = [name for group in GROUPS.values() for name in group]
    assert sorted(grouped) == sorted(VISIBLE), "give a new option its place and placeholder in GROUPS"
    odd = {name for group in GROUPS.values() for name, shown in group.items() if shown.strip("X") == ""}
    assert odd == {"mixed-precision", "secure-aggregation"}  # take no value


def test_the_help_is_readable_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    parser = argparse.ArgumentParser(prog="fedloom run")
    add_options(parser)
    lines = parser.format_help().splitlines()
    assert lines[0] == "usage: fedloom run [FLAGS]"
    assert [line for line in lines if len(line) > 80] == []
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["options:", *(f"{title}:" for title in GROUPS), "settings:"]
    assert "  --lr RATE             clients' learning rate (default: 0.05)" in lines


def test_only_the_named_options_have_a_flag() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, ["seed"])
    flags = {flag for action in parser._actions for flag in action.option_strings}
    assert flags == {"-h", "--help", "--seed", "--preset", "--config", "--set"}


def test_flags_win_over_the_file_and_set_over_both(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("lr = 0.1\nrounds = 3\n[disco]\na = 0.2\nb = 0.3\n")
    given = given_options(parsed("--config", str(file), "--lr", "0.5", "--set", "disco.a=0.4"))
    assert given == {"lr": 0.5, "rounds": 3, "disco.a": 0.4, "disco.b": 0.3}


def test_only_what_was_given_is_returned_and_words_stay_words() -> None:
    assert given_options(parsed()) == {}
    given = given_options(parsed("--out", "1", "--seed", "1", "--mixed-precision", "--held-out", "auto"))
    assert given == {"out": "1", "seed": 1, "mixed-precision": True, "held-out": "auto"}


def test_set_takes_a_part_and_a_value() -> None:
    with pytest.raises(ConfigError, match="part.name=value"):
        given_options(parsed("--set", "a=1"))


def test_a_comma_list_has_no_empty_words() -> None:
    assert comma_list(" a, b ,,c,") == ["a", "b", "c"]
    assert comma_list("") == []
