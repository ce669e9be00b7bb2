"""How a run ended, in the server's words, and a sentence where there is no server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deploy.ports import LOOPBACK, hold_free_port
from fl_config.errors import ConfigError
from fl_protocol.flower.submission import Outcome, Submission


class Client:
    """A control interface that knows one run, number 7, in this state."""

    def __init__(self, *status: str) -> None:
        self.status = SimpleNamespace(**dict(zip(("status", "sub_status", "details"), status, strict=True)))

    def ListRuns(self, request: Any) -> Any:
        assert request.run_id == 7
        return SimpleNamespace(run_dict={7: SimpleNamespace(status=self.status)})

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (("running", "", ""), Outcome(False)),
        (("finished", "completed", ""), Outcome(True, "completed")),
        (
            ("finished", "failed", "ServerApp failed with exception: 3 clients are needed."),
            Outcome(True, "failed", "3 clients are needed."),
        ),
        (("finished", "failed", "Its process was lost."), Outcome(True, "failed", "Its process was lost.")),
    ],
)
def test_how_a_run_stands(status: tuple[str, ...], outcome: Outcome) -> None:
    with Submission("127.0.0.1:1", None) as server:
        server.client.close()
        server.client = Client(*status)  # type: ignore[assignment]
        assert server.outcome(7) == outcome


def test_a_server_that_does_not_answer_is_a_sentence() -> None:
    held, port = hold_free_port()
    refused = pytest.raises(ConfigError, match=f"The server at {LOOPBACK}:{port} does not answer")
    with held, Submission(f"{LOOPBACK}:{port}", None) as server, refused:
        server.outcome(7)
