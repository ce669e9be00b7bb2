"""What is kept of a run: that it is found again by its setting, and what it says of the code and the machine, and what not."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from simulation.reproduce.kept_results import commit, machine, numbers_of, processor, read_results, run_name
from simulation.reproduce.published import Setting


def test_a_run_is_named_by_what_its_numbers_come_from() -> None:
    one = Setting("", {"strategy": "fedprox", "lr": 0.1, "prox.mu": 0.1, "clients": 10})
    assert numbers_of(one) == {"strategy": "fedprox", "lr": 0.1, "prox.mu": 0.1}
    same = Setting("a label", {"prox.mu": 0.1, "strategy": "fedprox", "lr": 0.1, "engine": "inline", "out": "x"})
    assert run_name(one, 7) == run_name(same, 7)
    assert run_name(one, 7).startswith("fedprox-") and run_name(one, 7).endswith("-seed7")
    assert run_name(one, 7) != run_name(Setting("", {**one.values, "lr": 0.2}), 7)
    assert run_name(one, 7) == run_name(
        Setting("", {**one.values, "stop-at": 0.9}), 7
    )  # its numbers, as far as it goes


def test_the_machine_is_told_without_its_name() -> None:
    told = machine()
    assert told["cores"] == os.cpu_count() and told["memory_gb"] > 0 and told["processor"]
    assert platform.node() not in json.dumps(told)


def test_the_processor_is_that_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: A chip: fast\nflags\t: fpu\n\n")
    assert processor(tmp_path / "cpuinfo") == "A chip: fast"
    assert processor(tmp_path / "none") == (platform.processor() or platform.machine())


def test_the_commit_is_that_of_a_checkout_of_our_own() -> None:
    top = (Path(__file__).resolve().parents[3] / ".git").exists()
    told = commit()
    assert (told is not None) == top
    assert told is None or len(told.removesuffix("+")) == 40


def test_a_file_that_is_no_result_is_told(tmp_path: Path) -> None:
    assert read_results(tmp_path / "none") == {}
    (tmp_path / "thesis.json").write_text("[]")
    with pytest.raises(ConfigError, match="thesis.json is not a result of `fedloom reproduce`"):
        read_results(tmp_path)
