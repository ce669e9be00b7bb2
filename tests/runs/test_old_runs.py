"""Runs that FedLoom 0.1 wrote are read and resumed, and end with the bits that 0.1 itself gave them.

version_0_1/ holds four runs of two rounds, as 0.1 left them, and the models of its own resumed runs after four rounds. Processors round
differently, by 6e-8 at the most here: numbers are compared as this one rounds, and bits in an arithmetic that all of them have, in which the code of
0.1 was run once more (three other arithmetics gave its bits and ours as well: those of two processors, and AVX2 alone on a third).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fl_config.errors import ConfigError
from fl_strategies.checkpoint import FILE, load_checkpoint
from simulation import run
from simulation.report.page import write_report
from tests.runs.same_arithmetic import can_be_had, run_there

OLD = Path(__file__).with_name("version_0_1")
AFTER_FOUR_ROUNDS = {
    "scaffold": "07bd1aed8c0f32df901fe5e6a85b35c9298750bec13c618288b7d552b88cc3ca",  # with disco.target=global
    "afl": "07a3fd82062ef10da28a46d508e9dbcc45c734f5d7d0b6f704a422f59a581527",
    "cuau": "ce5159ce6cc951ebaad10e244c4330d6fa776c7f1b95ed6fa9e10b50ebca8c92",
    "ssa": "b33b022fd8143555dc955efa152ea763354467ea59b0dd9b831dbebac55937c4",  # every_round, average=0.5
}


def copied(name: str, folder: Path) -> Path:
    """The old run as if 0.1 had written it here."""
    shutil.copytree(OLD / name, folder)
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("@FOLDER@", str(folder)))
    return folder


def near(model: Mapping[str, Any], name: str) -> None:
    expected = load_file(OLD / "after_four_rounds" / f"{name}.safetensors")
    assert model.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(model[key], value, rtol=0, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", AFTER_FOUR_ROUNDS)
def test_a_run_of_version_0_1_goes_on_to_the_same_numbers(name: str, tmp_path: Path) -> None:
    result = run({"resume": str(copied(name, tmp_path / name)), "rounds": 4})
    assert [record["round"] for record in result.metrics] == [0, 1, 2, 3, 4]
    near({key: value.numpy() for key, value in result.model.items()}, name)


@pytest.mark.parametrize("name", AFTER_FOUR_ROUNDS)
def test_and_to_the_same_bits_where_the_arithmetic_is_the_same(name: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path / name)
    run_there(["--resume", str(folder), "--rounds", "4"])
    model = load_file(folder / "model.safetensors")
    near(model, name)
    content = b"".join(key.encode() + model[key].tobytes() for key in sorted(model))
    assert hashlib.sha256(content).hexdigest() == AFTER_FOUR_ROUNDS[name] or not can_be_had()


def test_a_run_of_version_0_1_has_a_report(tmp_path: Path) -> None:
    page = write_report([copied(name, tmp_path / name) for name in AFTER_FOUR_ROUNDS], tmp_path / "report.html")
    assert "scaffold" in page.read_text()


def test_a_checkpoint_of_an_unknown_format_is_a_sentence(tmp_path: Path) -> None:
    save_file({"omega": np.zeros(2, dtype=np.float32)}, tmp_path / FILE, metadata={"format": "9"})
    with pytest.raises(ConfigError, match="has the format '9', this version reads '3'"):
        load_checkpoint(tmp_path)
