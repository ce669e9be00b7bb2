"""What the tests of `fedloom deploy` share: the end of our process, and a command that must fail."""

from __future__ import annotations

import pytest

from tests.fedloom.cli import command_line


class Replaced(Exception):
    """Stands for the process that would have been replaced by Flower's."""


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command of `fedloom deploy` that must fail; returns its one sentence."""
    capsys.readouterr()
    return command_line.fails(capsys, "deploy", *words)
