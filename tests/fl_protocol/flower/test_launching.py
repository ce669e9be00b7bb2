"""Apps are forks; of one that was killed the launcher says so, and a run that fails says why in one sentence."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from flwr.supercore.constant import TaskType

from fl_config.errors import ConfigError
from fl_protocol.flower import launching
from fl_protocol.flower.launching import LOST, ForkExecutor, answer_one, serve_run, tell_end


class Process:
    """A fork that has ended with this exit code, or goes on."""

    def __init__(self, exitcode: int | None) -> None:
        self.exitcode = exitcode

    def is_alive(self) -> bool:
        return self.exitcode is None


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """One that notes what it would fork."""
    made: Any = ForkExecutor.__new__(ForkExecutor)
    made.kind, made.running, made.forked = TaskType.CLIENT_APP, [], []
    monkeypatch.setattr(ForkExecutor, "_fork", lambda self, *words: made.forked.append(words) or Process(None))
    return made


def test_each_kind_has_its_own_app(executor: Any) -> None:
    assert executor.get_eligible_capacity(set(TaskType)) == ({TaskType.CLIENT_APP}, set())
    executor.launch("a message")
    executor.kind = TaskType.SERVER_APP
    executor.launch("a run")
    assert [words[:2] for words in executor.forked] == [(answer_one, "a message"), (serve_run, "a run")]


def test_an_app_that_was_killed_is_told_once(executor: Any) -> None:
    ended = {"in order": 0, "with an error": 1, "killed": -signal.SIGKILL, "lost": LOST, "at work": None}
    executor.running = [(Process(code), name) for name, code in ended.items()]
    executor.reconcile()
    executor.reconcile()
    assert executor.forked == [
        (tell_end, "killed", "Its process was killed by SIGKILL."),
        (tell_end, "lost", "Its process was lost."),
    ]
    assert [name for _, name in executor.running] == ["at work"]


@pytest.mark.parametrize(
    ("error", "sentence", "traced"),
    [
        (ConfigError("3 clients are needed."), "3 clients are needed.", False),
        (FileNotFoundError(2, "No such file", "data.npz"), "data.npz cannot be used (No such file)", False),
        (KeyError("weights"), "KeyError: 'weights'", True),
    ],
)
def test_a_failure_is_one_sentence_in_the_runs_log(
    error: Exception, sentence: str, traced: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    launching.briefly(logging.ERROR, "ServerApp raised an exception", exc_info=error)
    said = capfd.readouterr()
    assert said.out.startswith(f"fedloom: {sentence}") and said.out.count("\n") == 1
    assert (type(error).__name__ in said.err) is traced


def test_other_lines_stay_as_they_are(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(launching, "log", lambda *words: heard.append(words))
    launching.briefly(logging.INFO, "%s of %s", 1, 2)
    assert heard == [(logging.INFO, "%s of %s", 1, 2)]


def test_a_launcher_waits_until_somebody_listens() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
        waiting = threading.Thread(target=launching.await_listener, args=(f"127.0.0.1:{port}",), daemon=True)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        found.listen()
        waiting.join(60)
        assert not waiting.is_alive()


def test_the_authority_is_read_where_there_is_one(tmp_path: Any) -> None:
    (tmp_path / "ca.crt").write_bytes(b"certificate")
    spec: Any = SimpleNamespace(root_certificates_path=str(tmp_path / "ca.crt"))
    assert launching.authority(spec) == b"certificate"
    spec.root_certificates_path = None
    assert launching.authority(spec) is None


def test_an_app_that_is_stopped_closes_what_it_has_open_before_flower_ends_it() -> None:
    happened: list[str] = []

    def flower(number: int, _: object) -> None:
        happened.append("flower")
        raise SystemExit(0)

    def app(**named: Any) -> Any:
        try:
            with ThreadPoolExecutor(1) as hands:  # as where arrays are fetched
                hands.submit(os.kill, os.getpid(), signal.SIGINT)
                time.sleep(10)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # comes too late to interrupt the closing
            happened.append(f"closed {named['grid']}")

    before = {number: signal.signal(number, flower) for number in launching.STOPPED_BY}
    try:
        with pytest.raises(SystemExit):
            launching.stopped_in_order(app)(grid="its folder")
        assert happened == ["closed its folder", "flower"]
        assert all(signal.getsignal(number) is flower for number in launching.STOPPED_BY)
        assert launching.stopped_in_order(lambda **named: named["grid"])(grid="done") == "done"
        assert all(signal.getsignal(number) is flower for number in launching.STOPPED_BY)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
