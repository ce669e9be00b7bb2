"""Runs on a federation, by the server's control interface: `flwr run`, `flwr log` and `flwr list` without a process of their own.

Flower's commands say that a run was started, and show its log; that it failed, and why, they do not say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flwr.cli.build import build_fab_from_disk
from flwr.common.config import parse_config_args
from flwr.common.serde import fab_to_proto, user_config_to_proto
from flwr.proto.control_pb2 import ListRunsRequest, StartRunRequest, StopRunRequest, StreamLogsRequest
from flwr.supercore.fab import Fab

from fl_config.errors import ConfigError
from fl_protocol.flower.control import Control

FINISHED = "finished"
SAID_BY_FLOWER = "ServerApp failed with exception: "  # before the sentence


@dataclass(frozen=True)
class Outcome:
    """How a run stands. `how` and `reason` are empty while it goes on."""

    ended: bool
    how: str = ""  # completed, failed or stopped
    reason: str = ""


class Submission(Control):
    """The control interface as far as it concerns runs."""

    def start(self, app: Path, run_config: Path) -> int:
        """Submit the app of this folder with the run config of this TOML file; returns the run's number."""
        content = build_fab_from_disk(app)
        fab = Fab(hashlib.sha256(content).hexdigest(), content, {})
        given = user_config_to_proto(parse_config_args([str(run_config)]))
        with self._sentences():
            started = self.client.StartRun(StartRunRequest(fab=fab_to_proto(fab), override_config=given))
        if not started.HasField("run_id"):
            raise ConfigError(f"The server at {self.address} did not start the run: its log may say why.")
        return int(started.run_id)

    def log(self, run: int) -> Iterator[str]:
        """What the run says, in pieces, until it ends."""
        with self._sentences():
            for piece in self.client.StreamLogs(StreamLogsRequest(run_id=run, after_timestamp=0.0)):
                yield piece.log_output

    def outcome(self, run: int) -> Outcome:
        with self._sentences():
            status = self.client.ListRuns(ListRunsRequest(run_id=run)).run_dict[run].status
        if status.status != FINISHED:
            return Outcome(False)
        return Outcome(True, status.sub_status, status.details.removeprefix(SAID_BY_FLOWER))

    def stop(self, run: int) -> None:
        with self._sentences():
            self.client.StopRun(StopRunRequest(run_id=run))
