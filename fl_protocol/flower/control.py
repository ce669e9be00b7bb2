"""The server's control interface, as `flwr` itself uses it: nodes with their names, runs with their options, registering, logs.

Flower's own command lists nodes by their numbers only, and tells nothing of a run's options.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from flwr.common.serde import user_config_from_proto
from flwr.proto.control_pb2 import (
    ListNodesRequest,
    ListRunsRequest,
    RegisterNodeRequest,
    UnregisterNodeRequest,
)
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import ApiErrorCode, FlowerError
from flwr.supercore.interceptors.http.runtime_version import RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from fl_config.errors import ConfigError

ONLINE, OFFLINE, REGISTERED, REVOKED = "online", "offline", "registered", "revoked"
STATES = {"online": ONLINE, "offline": OFFLINE, "registered": REGISTERED, "unregistered": REVOKED}


@dataclass(frozen=True)
class RegisteredNode:
    """A client as the server knows it. `name` is empty where it was registered without one."""

    number: int
    name: str
    state: str  # one of STATES
    since: datetime | None
    key: bytes


@dataclass(frozen=True)
class SubmittedRun:
    number: int
    options: dict[str, Any]  # those of `fedloom run`, as they were submitted
    state: str  # pending, starting, running, or how it ended: completed, failed, stopped
    details: str  # why it failed
    submitted: datetime | None

    @property
    def folder(self) -> str:
        """Where it is kept, below the server's folder."""
        return str(self.options.get("resume") or self.options.get("out") or "")


class Control:
    """A connection to the control interface at HOST:PORT; `authority` vouches for the server, None is plaintext."""

    def __init__(self, address: str, authority: Path | None) -> None:
        self.address = address
        self.client = ControlHttpClient.from_server_address(
            server_address=address,
            insecure=authority is None,
            root_certificates=None if authority is None else authority.read_bytes(),
            interceptors=[RuntimeVersionHttpInterceptor(component_name="flwr CLI")],
        )

    def nodes(self) -> list[RegisteredNode]:
        """In the order in which they were registered."""
        with self._sentences():
            found = self.client.ListNodes(ListNodesRequest()).nodes_info
        return [_node(info) for info in sorted(found, key=lambda info: info.registered_at)]

    def runs(self) -> list[SubmittedRun]:
        """The newest first."""
        with self._sentences():
            found = self.client.ListRuns(ListRunsRequest()).run_dict.values()
        return [_run(info) for info in sorted(found, key=lambda info: info.pending_at, reverse=True)]

    def register(self, name: str, key: Any) -> None:
        """Let in whoever has the private half of this key (one of `cryptography`'s public keys), under this name."""
        with self._sentences():
            self.client.RegisterNode(RegisterNodeRequest(public_key=public_key_to_bytes(key), name=name))

    @staticmethod
    def key_bytes(key: Any) -> bytes:
        """A public key as the server keeps it."""
        return public_key_to_bytes(key)

    def unregister(self, node: RegisteredNode) -> None:
        with self._sentences():
            self.client.UnregisterNode(UnregisterNodeRequest(node_id=node.number))

    def close(self) -> None:
        self.client.close()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPStatusError as error:
            refusal = FlowerError.from_json(error.response.text)
            if refusal is not None and refusal.code == ApiErrorCode.PUBLIC_KEY_ALREADY_IN_USE:
                raise ConfigError("This public key is registered already, or was revoked.") from None
            raise ConfigError(f"The server at {self.address} refused: {refusal or error}.") from None
        except (httpx.RequestError, ssl.SSLError) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error) and "expired" in str(error):
                raise ConfigError(
                    f"The certificate of the server at {self.address} has expired: make a new one with `fedloom deploy renew` "
                    "where the authority is, copy it to the server's host, and start the server again."
                ) from None
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise ConfigError(
                    f"The server at {self.address} is not one of this authority ({error}): give --keys the folder of its federation."
                ) from None
            raise ConfigError(
                f"The server at {self.address} does not answer ({error}): start it with `fedloom deploy server`, or say where it "
                "is with --control; --insecure must be given on both sides or on none."
            ) from None


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _node(info: Any) -> RegisteredNode:
    state = STATES[info.status]
    since = {
        ONLINE: info.last_activated_at,
        OFFLINE: info.last_deactivated_at,
        REGISTERED: info.registered_at,
        REVOKED: info.unregistered_at,
    }[state]
    return RegisteredNode(info.node_id, info.name, state, _time(since), info.public_key)


def _run(info: Any) -> SubmittedRun:
    status = info.status
    return SubmittedRun(
        number=info.run_id,
        options=dict(user_config_from_proto(info.override_config)),
        state=status.sub_status or status.status,
        details=status.details,
        submitted=_time(info.pending_at),
    )
