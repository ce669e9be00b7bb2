"""Runs on a federation, by the server's control interface: `flwr run`, `flwr log` and `flwr list` without a process of their own.

Flower's commands say that a run was started, and show its log; that it failed, and why, they do not say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx
from flwr.cli.build import build_fab_from_disk
from flwr.common.config import parse_config_args
from flwr.common.serde import fab_to_proto, user_config_to_proto
from flwr.proto.control_pb2 import ListRunsRequest, StartRunRequest, StopRunRequest, StreamLogsRequest
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import FlowerError
from flwr.supercore.fab import Fab
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

from fl_config.errors import ConfigError

FINISHED = "finished"
SAID_BY_FLOWER = "ServerApp failed with exception: "  # before the sentence


@dataclass(frozen=True)
class Outcome:
    """How a run stands. `how` and `reason` are empty while it goes on."""

    ended: bool
    how: str = ""  # completed, failed or stopped
    reason: str = ""


class Submission:
    """A connection to the server's control address; `authority` vouches for it, None is plaintext."""

    def __init__(self, address: str, authority: Path | None) -> None:
        self.address = address
        self.client = ControlHttpClient.from_server_address(
            server_address=address,
            insecure=authority is None,
            root_certificates=None if authority is None else authority.read_bytes(),
            interceptors=[RuntimeVersionHttpInterceptor(component_name="flwr CLI")],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def start(self, app: Path, run_config: Path) -> int:
        """Submit the app of this folder with the run config of this TOML file; returns the run's number."""
        content = build_fab_from_disk(app)
        fab = Fab(hashlib.sha256(content).hexdigest(), content, {})
        given = user_config_to_proto(parse_config_args([str(run_config)]))
        with self._told():
            started = self.client.StartRun(StartRunRequest(fab=fab_to_proto(fab), override_config=given))
        if not started.HasField("run_id"):
            raise ConfigError(f"The server at {self.address} did not start the run: its log may say why.")
        return int(started.run_id)

    def log(self, run: int) -> Iterator[str]:
        """What the run says, in pieces, until it ends."""
        with self._told():
            for piece in self.client.StreamLogs(StreamLogsRequest(run_id=run, after_timestamp=0.0)):
                yield piece.log_output

    def outcome(self, run: int) -> Outcome:
        with self._told():
            status = self.client.ListRuns(ListRunsRequest(run_id=run)).run_dict[run].status
        if status.status != FINISHED:
            return Outcome(False)
        return Outcome(True, status.sub_status, status.details.removeprefix(SAID_BY_FLOWER))

    def stop(self, run: int) -> None:
        with self._told():
            self.client.StopRun(StopRunRequest(run_id=run))

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPStatusError as error:
            refusal = FlowerError.from_json(error.response.text)
            raise ConfigError(f"The server at {self.address} refused: {refusal or error}.") from None
        except httpx.RequestError as error:
            raise ConfigError(
                f"The server at {self.address} does not answer ({error}): start it with `fedloom deploy server`, or give its "
                "address with --control."
            ) from None
