"""The pages for those who bring something of their own: every block works as it is printed, and does what the page says."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.docs.executed_page import ROOT, blocks, execute
from tests.runs.own_folder import records

pytestmark = pytest.mark.timeout(300)


def test_every_kind_of_part_has_a_template_that_works(tmp_path: Path) -> None:
    ran = execute("own_parts.md", tmp_path)
    page = blocks("own_parts.md")
    assert len([block for block in page if block.language == "python"]) == 8
    assert [words[0] for words in ran] == ["run", "strategies", *["run"] * 7]
    last: dict[str, dict[str, Any]] = {run.name: records(run)[-1] for run in (tmp_path / "runs").iterdir()}
    assert len(last) == 8 and all(line["round"] == 2 and line["dropped"] == [] for line in last.values())
    config = tomllib.loads((tmp_path / "runs/l1prox/config.toml").read_text())
    digest = hashlib.sha256((tmp_path / "my_objective.py").read_bytes()).hexdigest()
    assert config["l1prox"] == {"mu": 0.001} and config["sources"] == f"my_objective.py={digest}"
    assert last["fresh"]["fresh/most"] in (1, 2)
    assert last["leash"]["leash/mean"] > 0
    assert "global/accuracy" not in last["ownbias"] and last["ownbias"]["personal/accuracy"] > 0
    assert last["moons"]["cohort"] == [0, 1, 2, 3]
    assert last["net"]["global/accuracy"] <= 1
    assert last["top-two"]["global/top_two"] > last["top-two"]["global/accuracy"]
    assert len(last["top-two"]["personal/client_top_two"]) == 10
    sizes = [sum(counts) for counts in json.loads((tmp_path / "runs/turns/partition.json").read_text())["counts"]]
    assert sizes == [160, 160, 142, *[140] * 7]  # 72 blocks of 20 and one of 2, dealt to ten clients


@pytest.mark.parametrize("page", ["own_model.md", "tasks.md", "data.md"])
def test_every_block_of_the_page_works(tmp_path: Path, page: str) -> None:
    assert execute(page, tmp_path)
    runs = list((tmp_path / "runs").iterdir())
    assert runs and all((run / "report.html").exists() for run in runs)
    assert all(line["dropped"] == [] for run in runs for line in records(run)[1:])


def test_the_page_about_python(tmp_path: Path) -> None:
    ran = execute("python.md", tmp_path)
    assert [words[0] for words in ran] == ["run", "predict", "predict"]
    assert len(list((tmp_path / "runs").iterdir())) == 3
    assert (tmp_path / "client2.csv").read_text().startswith("sample,prediction,label,probability_0")


def test_an_installed_package_offers_its_parts_by_an_entry_point(tmp_path: Path) -> None:
    """On ray, whose workers have to find them by themselves."""
    site = tmp_path / "site"
    about = site / "acme_fl-1.0.dist-info"
    about.mkdir(parents=True)
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: acme-fl\nVersion: 1.0\n")
    about.joinpath("entry_points.txt").write_text("[fedloom.parts]\nacme = acme_fl\n")
    parts = [
        block.text for block in blocks("own_parts.md") if re.match("# my_(objective|partition|metric)", block.text)
    ]
    site.joinpath("acme_fl.py").write_text("\n\n".join(parts))
    command = (
        "run --strategy fedavg+l1prox --partition turns:20 --metrics accuracy,top-two --held-out 0.2 --dataset digits --model mlp:8 "
        "--clients 3 --rounds 1 --device cpu --workers 1 --out run --engine ray"
    )
    done = subprocess.run(
        [sys.executable, "-m", "fedloom", *command.split()],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{site}"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = records(tmp_path / "run")[-1]
    assert last["dropped"] == [] and len(last["personal/client_top_two"]) == 3
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    assert config["l1prox"] == {"mu": 0.01} and config["sources"] == ""
