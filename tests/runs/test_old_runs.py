"""Runs that FedLoom 0.1 wrote are read and resumed, and end with the bits that 0.1 itself gave them.

version_0_1/ holds four runs of two rounds, as 0.1 left them, and the models of its own resumed runs after four rounds. Processors round
differently: bits are compared on those where 0.1 itself was run, and elsewhere numbers, which differ by 6e-8 at the most from one arithmetic to another.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fl_config.errors import ConfigError
from fl_strategies.checkpoint import FILE, load_checkpoint
from simulation import run
from simulation.report.page import write_report
from simulation.reproduce.kept_results import processor

OLD = Path(__file__).with_name("version_0_1")
EPYC, XEON = "AMD EPYC", "Intel(R) Xeon(R) Processor @ 2.50GHz"
AFTER_FOUR_ROUNDS = {
    "scaffold": {  # with disco.target=global
        EPYC: "56a794698cb4b16b961e783054abc09e8849a281bcf6a670192495156978f264",
        XEON: "ef195543dfdc6fe48fdba96bd043ff646b964fb4b29e0b113d555331681855f4",
    },
    "afl": {
        EPYC: "d672be1767f9719f954e296d434fbd1b95002b6f03dad9a5d0adc03deca08ac1",
        XEON: "4682360896fa8ca0e60b13c6a3c59020a100450a7bb5bd8305023d06d5436744",
    },
    "cuau": {
        EPYC: "c485d8d0ea4b6038495cc7d1aa233c747a3e85dcc667fb26dae30b6871af0c94",
        XEON: "1bee688458e4a4ba07f1db0d620b76ad4296f7fd462e40c55595da7548c948fd",
    },
    "ssa": {  # every_round, average=0.5
        EPYC: "a2ea6d6b912b1e36db82b0a4bdda410061f6c71b268b8d6203c8b9f626e1c4bd",
        XEON: "ff43fd96e239f37ee337ed03f1002c99fe3b28b9f9e0d8a89a880cf8ba6dbe71",
    },
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
    model = {key: value.numpy() for key, value in result.model.items()}
    expected = load_file(OLD / "after_four_rounds" / f"{name}.safetensors")
    assert model.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(model[key], value, rtol=0, atol=1e-6, err_msg=key)
    known = AFTER_FOUR_ROUNDS[name].get(processor())
    content = b"".join(key.encode() + model[key].tobytes() for key in sorted(model))
    assert known is None or hashlib.sha256(content).hexdigest() == known


def test_a_run_of_version_0_1_has_a_report(tmp_path: Path) -> None:
    page = write_report([copied(name, tmp_path / name) for name in AFTER_FOUR_ROUNDS], tmp_path / "report.html")
    assert "scaffold" in page.read_text()


def test_a_checkpoint_of_an_unknown_format_is_a_sentence(tmp_path: Path) -> None:
    save_file({"omega": np.zeros(2, dtype=np.float32)}, tmp_path / FILE, metadata={"format": "9"})
    with pytest.raises(ConfigError, match="has the format '9', this version reads '3'"):
        load_checkpoint(tmp_path)
