"""Commands of `fedloom deploy` that would become Flower's process are kept instead."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fl_protocol.flower.control
from deploy.upkeep import logfile
from fedloom.cli.deploy import hosts
from fedloom.cli.main import main
from tests.fedloom.cli.deploy.replaced import FakeControl, Replaced


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Instead of becoming Flower's process, keep what it would have been started with."""
    monkeypatch.chdir(tmp_path)
    calls: list[Any] = []

    def execve(path: str, words: list[str], variables: dict[str, str]) -> None:
        calls.append((words, variables))
        raise Replaced

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(logfile, "keep_log", lambda file, **names: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(hosts, "LONGEST_PLACE", 1000)  # nothing is left outside of that folder
    monkeypatch.setattr(hosts, "check_free", lambda *_: None)  # a server of somebody else's may have the usual ports
    assert main(["deploy", "init", "--server", "127.0.0.1", "--clients", "site-a,site-b"]) == 0
    x, y = np.zeros((4, 2), dtype=np.float32), np.arange(4) % 2
    np.savez("a.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    return calls


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeControl:
    """A server that needs no process."""
    made = FakeControl()
    monkeypatch.setattr(fl_protocol.flower.control, "Control", lambda address, authority: made)
    return made
