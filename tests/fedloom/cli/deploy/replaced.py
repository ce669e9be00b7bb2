"""What the tests of `fedloom deploy` share: the end of our process, a server that is none, and a command that must fail."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from fl_protocol.flower.control import REVOKED, Control, RegisteredNode, SubmittedRun
from tests.fedloom.cli import command_line


class Replaced(Exception):
    """Stands for the process that would have been replaced by Flower's."""


class FakeControl:
    """Answers as a server's control interface does, from lists."""

    key_bytes = staticmethod(Control.key_bytes)

    def __init__(self) -> None:
        self.known: list[RegisteredNode] = []
        self.submitted: list[SubmittedRun] = []

    def add(self, name: str, state: str, key: bytes = b"") -> None:
        self.known.append(RegisteredNode(len(self.known) + 1, name, state, datetime.now(UTC), key))

    def nodes(self) -> list[RegisteredNode]:
        return list(self.known)

    def runs(self) -> list[SubmittedRun]:
        return list(self.submitted)

    def register(self, name: str, key: Any) -> None:
        self.add(name, "registered", self.key_bytes(key))

    def unregister(self, node: RegisteredNode) -> None:
        self.known = [dataclasses.replace(one, state=REVOKED) if one == node else one for one in self.known]

    def close(self) -> None:
        """There is no connection."""


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command of `fedloom deploy` that must fail; returns its one sentence."""
    capsys.readouterr()
    return command_line.fails(capsys, "deploy", *words)
