"""`fedloom presets`, and `--preset` among the flags."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from fedloom.cli.main import main
from fedloom.preset import preset
from fl_config.toml import flatten
from tests.fedloom.cli.command_line import SMALL, fails


def test_the_list_can_be_narrowed_by_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", "--json"]) == 0
    everything = json.loads(capsys.readouterr().out)
    assert main(["presets", "Modularity", "FedDisco", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert one in everything and len(everything) == 44
    assert (one["name"], one["size"]) == ("feddisco-table2-fedavg", "6 clients, 100 rounds, 10 epochs")
    assert main(["presets", "fedssg"]) == 0
    shown = capsys.readouterr()
    assert "fedssg-table6-ablation" in shown.out and "asd-table8-vit" not in shown.out
    assert "fedloom run --preset fedssg-table1-cifar10" in shown.err


def test_the_whole_name_of_one_shows_what_it_sets(capsys: pytest.CaptureFixture[str]) -> None:
    """Its name stands in the text of another, which is not meant."""
    assert main(["presets", "feddisco-table2-fedavg"]) == 0
    shown = capsys.readouterr()
    assert "feddisco-table13-uniform" not in shown.out
    settings = tomllib.loads(shown.out.partition("\n\n")[2])
    assert flatten(settings) == preset("feddisco-table2-fedavg") and settings["clients"] == 6
    assert "fedloom run --preset feddisco-table2-fedavg;" in shown.err


def test_flags_win_over_a_preset(tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ["run", "--preset", "asd-table13-cifar10", *SMALL, "--rounds", "1", "--epochs", "1", "--out", str(run)]
    assert main([*words, "--partition", "iid", "--fraction", "1"]) == 0
    config = (run / "config.toml").read_text()
    assert 'strategy = "asd"' in config and 'sampler = "bernoulli"' in config  # of the preset
    assert 'dataset = "digits"' in config and "rounds = 1\n" in config


def test_a_word_that_no_preset_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No preset has 'nonsense' in its name or text." in fails(capsys, "presets", "nonsense")
    assert "did you mean 'asd-table8-vit'" in fails(capsys, "run", "--preset", "asd-table8-vi")
