"""Notebooks: the one in docs/ executed from top to bottom, and runs on Ray inside of a running event loop."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(1200)
ON_RAY = (
    """
import asyncio

import fedloom

assert asyncio.get_running_loop().is_running()
runs = [fedloom.run(dataset="digits", clients=2, rounds=2, model="mlp:8", workers=1, engine="ray") for _ in range(2)]
""",
    """
async def one():
    return fedloom.run(dataset="digits", clients=2, rounds=2, model="mlp:8", engine="inline")

runs.append(await one())
{str(run.model) for run in runs} == {str(runs[0].model)}
""",
)


def execute(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The outputs of every cell, made in a kernel of its own that works in `folder`."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    NotebookClient(
        notebook, timeout=1000, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return [cell.get("outputs", []) for cell in notebook.cells]


def texts(outputs: list[Any]) -> list[str]:
    return [output.get("text") or output["data"]["text/plain"] for output in outputs]


def test_the_notebook_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    shown = execute(notebook, tmp_path, monkeypatch)
    assert len(list((tmp_path / "runs").iterdir())) == 7
    lines = [line for line in texts(shown[1]) if "round 4/4  accuracy" in line]
    assert len(lines) == 6 and all("\n" not in line for line in lines), "one line per run, which is rewritten"
    assert len(shown[1]) <= 6 * 2 + 1
    assert any("image/png" in output.get("data", {}) for output in shown[3]), "a picture"
    assert "client" in texts(shown[5])[0] and len(texts(shown[5])[0].splitlines()) == 1 + 5
    assert any("ended after round" in text for text in texts(shown[7]))
    early = next(text for text in texts(shown[7]) if text.startswith("<Run"))
    assert "30 rounds" not in early
    assert texts(shown[9])[0].startswith("Model(")
    assert "probability_9" in shown[10][0]["data"]["text/html"]
    found, recorded = texts(shown[12])[0].strip("()").split(", ")
    assert float(found.removeprefix("np.float64(").rstrip(")")) == pytest.approx(float(recorded))


def test_ray_inside_of_a_running_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in ON_RAY]  # type: ignore[no-untyped-call]
    shown = execute(nbformat.v4.new_notebook(cells=cells), tmp_path, monkeypatch)  # type: ignore[no-untyped-call]
    assert texts(shown[1])[-1] == "True"
