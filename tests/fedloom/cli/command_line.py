"""What the tests of the commands share: the flags of a small run, and a command that must fail."""

from __future__ import annotations

import pytest

from fedloom.cli.main import main

SMALL = [
    "--dataset",
    "digits",
    "--model",
    "mlp:16",
    "--clients",
    "4",
    "--batch-size",
    "32",
    "--engine",
    "inline",
    "--rounds",
    "2",
]


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail; returns its one sentence."""
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    assert code == 2, captured
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1, captured.err
    assert "Traceback" not in captured.err
    return lines[0]
