"""Runs that FedLoom 0.1 wrote are read and resumed, and end with the bits that 0.1 itself gave them.

version_0_1/ holds four runs of two rounds, as 0.1 left them; the sums are those of its own resumed runs after four rounds.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from fl_config.errors import ConfigError
from fl_strategies.checkpoint import FILE, load_checkpoint
from simulation import run
from simulation.report.page import write_report

OLD = Path(__file__).with_name("version_0_1")
AFTER_FOUR_ROUNDS = {
    "scaffold": "56a794698cb4b16b961e783054abc09e8849a281bcf6a670192495156978f264",  # with disco.target=global
    "afl": "d672be1767f9719f954e296d434fbd1b95002b6f03dad9a5d0adc03deca08ac1",
    "cuau": "c485d8d0ea4b6038495cc7d1aa233c747a3e85dcc667fb26dae30b6871af0c94",
    "ssa": "a2ea6d6b912b1e36db82b0a4bdda410061f6c71b268b8d6203c8b9f626e1c4bd",  # every_round, average=0.5
}


def copied(name: str, folder: Path) -> Path:
    """The old run as if 0.1 had written it here."""
    shutil.copytree(OLD / name, folder)
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("@FOLDER@", str(folder)))
    return folder


@pytest.mark.parametrize("name", AFTER_FOUR_ROUNDS)
def test_a_run_of_version_0_1_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    result = run({"resume": str(copied(name, tmp_path / name)), "rounds": 4})
    assert [record["round"] for record in result.metrics] == [0, 1, 2, 3, 4]
    content = b"".join(key.encode() + result.model[key].numpy().tobytes() for key in sorted(result.model))
    assert hashlib.sha256(content).hexdigest() == AFTER_FOUR_ROUNDS[name]


def test_a_run_of_version_0_1_has_a_report(tmp_path: Path) -> None:
    page = write_report([copied(name, tmp_path / name) for name in AFTER_FOUR_ROUNDS], tmp_path / "report.html")
    assert "scaffold" in page.read_text()


def test_a_checkpoint_of_an_unknown_format_is_a_sentence(tmp_path: Path) -> None:
    save_file({"omega": np.zeros(2, dtype=np.float32)}, tmp_path / FILE, metadata={"format": "9"})
    with pytest.raises(ConfigError, match="has the format '9', this version reads '3'"):
        load_checkpoint(tmp_path)
