"""What the server's control interface says, as plain values; what goes wrong with it, as sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.proto.control_pb2 import ListNodesResponse, ListRunsResponse
from flwr.proto.node_pb2 import NodeInfo
from flwr.proto.run_pb2 import Run, RunStatus
from flwr.proto.transport_pb2 import Scalar

from fl_config.errors import ConfigError
from fl_protocol.flower.control import Control

EARLIER, LATER = "2026-11-16T12:00:00+00:00", "2026-11-16T13:00:00+00:00"


class Answers:
    """Stands in for Flower's client."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked = answers, []  # type: ignore[var-annotated]

    def __getattr__(self, method: str) -> Any:
        def answer(request: Any) -> Any:
            self.asked.append(request)
            given = self.answers[method]
            if isinstance(given, Exception):
                raise given
            return given

        return answer


def control(**answers: Any) -> tuple[Control, Answers]:
    made, stand_in = Control("127.0.0.1:9093", None), Answers(**answers)
    made.client = stand_in  # type: ignore[assignment]
    return made, stand_in


def test_nodes_have_names_and_say_since_when_they_are_as_they_are() -> None:
    nodes = [
        NodeInfo(node_id=2, name="site-b", status="unregistered", registered_at=LATER, unregistered_at=LATER),
        NodeInfo(
            node_id=1, name="site-a", status="online", registered_at=EARLIER, last_activated_at=LATER, public_key=b"k"
        ),
    ]
    made, _ = control(ListNodes=ListNodesResponse(nodes_info=nodes))
    first, second = made.nodes()
    assert (first.number, first.name, first.state, first.key) == (1, "site-a", "online", b"k")
    assert first.since is not None and first.since.isoformat() == LATER
    assert (second.name, second.state) == ("site-b", "revoked")


def test_runs_come_newest_first_with_their_options() -> None:
    runs = {
        1: Run(
            run_id=1, pending_at=EARLIER, status=RunStatus(status="finished", sub_status="failed", details="no data")
        ),
        2: Run(run_id=2, pending_at=LATER, status=RunStatus(status="running")),
    }
    runs[2].override_config["resume"].CopyFrom(Scalar(string="first"))
    made, _ = control(ListRuns=ListRunsResponse(run_dict=runs))
    newest, oldest = made.runs()
    assert (newest.number, newest.state, newest.folder) == (2, "running", "first")
    assert (oldest.state, oldest.details, oldest.folder) == ("failed", "no data", "")


def test_a_key_is_registered_under_its_name() -> None:
    key = ec.generate_private_key(ec.SECP384R1()).public_key()
    made, heard = control(RegisterNode=None)
    made.register("site-a", key)
    assert heard.asked[0].name == "site-a" and heard.asked[0].public_key == Control.key_bytes(key)


def refusal(text: str) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "https://127.0.0.1:9093")
    return httpx.HTTPStatusError("refused", request=request, response=httpx.Response(400, text=text, request=request))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "start it with `fedloom deploy server`"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired"), "`fedloom deploy renew`"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"), "not one of this authority"),
        (refusal('{"code": 24, "detail": "Node not found"}'), "refused: Node not found"),
        (refusal("odd"), "refused"),
    ],
)
def test_what_goes_wrong_is_a_sentence(error: Exception, told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace("`", ".")):
        control(ListNodes=error)[0].nodes()


def test_a_key_that_the_server_has_seen_is_told() -> None:
    key = ec.generate_private_key(ec.SECP384R1()).public_key()
    with pytest.raises(ConfigError, match="registered already, or was revoked"):
        control(RegisterNode=refusal('{"code": 23, "detail": "Public key already in use"}'))[0].register("site-a", key)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="127.0.0.1:9 does not answer"):
        Control("127.0.0.1:9", None).nodes()
