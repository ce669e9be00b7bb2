"""Random and mutated input against a server's open port, from a registered and an unregistered peer, and from no peer at all.

    python -m tests.deploy.drills.bad_input [FRAMES] [SEED]

starts a server and sends it so many frames (10,000 unless told) of each kind; it must go on, answer, and not grow.
"""

from __future__ import annotations

import random
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.client.grpc_rere_client.node_auth_client_interceptor import NodeAuthClientInterceptor
from flwr.common.constant import PUBLIC_KEY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER
from flwr.proto import fab_pb2, fleet_pb2, heartbeat_pb2, message_pb2, run_pb2
from flwr.proto.node_pb2 import Node
from flwr.supercore.interceptors import RuntimeVersionClientInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from deploy.keys import make_keys
from tests.deploy.federation import Federation

SERVICE = "/flwr.proto.Fleet/"
PATIENCE = 60.0  # seconds for one answer
UNANSWERED = ("UNAVAILABLE", "DEADLINE_EXCEEDED")


class Peer:
    """Somebody who reaches the open port: with a key, or with none but rubbish in place of one."""

    def __init__(self, address: str, authority: bytes, key: ec.EllipticCurvePrivateKey | None) -> None:
        self.key, self.node = key, 0
        own: list[Any] = [RuntimeVersionClientInterceptor(component_name="SuperNode")]
        if key is not None:
            own.append(NodeAuthClientInterceptor(key, key.public_key()))
        plain = grpc.secure_channel(address, grpc.ssl_channel_credentials(authority))
        self.channel = grpc.intercept_channel(plain, *own)

    def send(self, method: str, frame: bytes, rubbish: random.Random | None = None) -> tuple[str, bytes]:
        """The name of the status that came back, and the answer."""
        call = self.channel.unary_unary(SERVICE + method)
        metadata = []
        if rubbish is not None:
            metadata = [
                (PUBLIC_KEY_HEADER, rubbish.randbytes(rubbish.randrange(200))),
                (SIGNATURE_HEADER, rubbish.randbytes(rubbish.randrange(200))),
                (TIMESTAMP_HEADER, str(rubbish.random())),
            ]
        try:
            return "OK", call(frame, timeout=PATIENCE, metadata=metadata)
        except grpc.RpcError as error:
            return error.code().name, b""  # type: ignore[attr-defined]

    def activate(self, interval: float = 5.0) -> None:
        assert self.key is not None
        request = fleet_pb2.ActivateNodeRequest(
            public_key=public_key_to_bytes(self.key.public_key()), heartbeat_interval=interval
        )
        status, answer = self.send("ActivateNode", request.SerializeToString())
        assert status == "OK", status
        self.node = fleet_pb2.ActivateNodeResponse.FromString(answer).node_id

    def deactivate(self) -> None:
        self.send("DeactivateNode", fleet_pb2.DeactivateNodeRequest(node_id=self.node).SerializeToString())


def proper(peer: Peer) -> dict[str, bytes]:
    """A request of every kind as this peer might send it."""
    node = Node(node_id=peer.node)
    public = b"" if peer.key is None else public_key_to_bytes(peer.key.public_key())
    message = message_pb2.Message(
        metadata=message_pb2.Metadata(
            run_id=1, message_id="a" * 64, src_node_id=peer.node, dst_node_id=1, reply_to_message_id="b" * 64,
            group_id="1", ttl=60.0, message_type="train", created_at=time.time(),
        )
    )  # fmt: skip
    tree = message_pb2.ObjectTree(object_id="a" * 64, children=[message_pb2.ObjectTree(object_id="c" * 64)])
    requests = {
        "RegisterNode": fleet_pb2.RegisterNodeFleetRequest(public_key=public),
        "ActivateNode": fleet_pb2.ActivateNodeRequest(public_key=public, heartbeat_interval=5.0),
        "SendNodeHeartbeat": heartbeat_pb2.SendNodeHeartbeatRequest(node=node, heartbeat_interval=5.0),
        "PullMessages": fleet_pb2.PullMessagesRequest(node=node),
        "PushMessages": fleet_pb2.PushMessagesRequest(
            node=node, messages_list=[message], message_object_trees=[tree], clientapp_runtime_list=[1.0]
        ),
        "GetRun": run_pb2.GetRunRequest(node=node, run_id=1),
        "GetFab": fab_pb2.GetFabRequest(node=node, hash_str="a" * 64, run_id=1),
        "PushObject": message_pb2.PushObjectRequest(
            node=node, run_id=1, object_id="a" * 64, object_content=b"some content", session_id="a session"
        ),
        "PullObject": message_pb2.PullObjectRequest(node=node, run_id=1, object_id="a" * 64),
        "ConfirmMessageReceived": message_pb2.ConfirmMessageReceivedRequest(
            node=node, run_id=1, message_object_id="a" * 64
        ),
    }
    return {method: request.SerializeToString() for method, request in requests.items()}


def mutated(frame: bytes, rng: random.Random) -> bytes:
    """The frame with something wrong in it, or something else altogether."""
    content = bytearray(frame)
    way = rng.randrange(8)
    if way == 0 or not content:
        return rng.randbytes(rng.randrange(2000))
    if way == 1:
        return bytes(content[: rng.randrange(len(content))])
    if way == 2:
        return bytes(content) + rng.randbytes(rng.randrange(1, 500))
    if way == 3:
        start = rng.randrange(len(content))
        return bytes(
            content[:start] + content[start : start + rng.randrange(1, 60)] * rng.randrange(2, 50) + content[start:]
        )
    for _ in range(rng.randrange(1, 12) if way == 4 else 1):  # one wrong byte often leaves a message that can be read
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def bombard(peer: Peer, frames: int, rng: random.Random) -> Counter[str]:
    """Send so many frames; what came back, counted."""
    came: Counter[str] = Counter()
    requests = proper(peer)
    for _ in range(frames):
        method = rng.choice(sorted(requests))
        rubbish = rng if peer.key is None and rng.random() < 0.5 else None
        came[peer.send(method, mutated(requests[method], rng), rubbish)[0]] += 1
    return came


def raw(address: str, frames: int, rng: random.Random) -> Counter[str]:
    """Bytes that are not even gRPC: of no protocol, of a broken TLS greeting, of HTTP."""
    host, _, port = address.rpartition(":")
    came: Counter[str] = Counter()
    for _ in range(frames):
        start = rng.choice(
            [b"", b"\x16\x03\x01\x02\x00\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\n"]
        )
        try:
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as link:
                link.sendall(start + rng.randbytes(rng.randrange(2000)))
                came["sent"] += 1
        except (ConnectionError, TimeoutError):
            came["closed"] += 1
    return came


def megabytes(process: int) -> float:
    """Memory of a process that is not on disk."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {process} has no memory")


def peers(federation: Federation, name: str) -> tuple[Peer, Peer, Peer, str]:
    """One whose key is registered now, one with a key that nobody registered, one without a key, and the address."""
    make_keys(federation.keys, [], [name, f"{name}-unknown"])
    place = federation.keys / "clients"
    federation.command("register", str(place / name / f"{name}.pub"))
    address = f"127.0.0.1:{federation.fleet}"
    authority = (place / name / "ca.crt").read_bytes()
    keys = [
        load_ssh_private_key((place / each / f"{each}.key").read_bytes(), None) for each in (name, f"{name}-unknown")
    ]
    known, unknown = (Peer(address, authority, key) for key in keys)  # type: ignore[arg-type]
    return known, unknown, Peer(address, authority, None), address


def main(frames: int = 10_000, seed: int = 0) -> int:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as made:
        federation = Federation(Path(made), namespaces=False)
        try:
            federation.start_server()
            known, unknown, keyless, address = peers(federation, "peer")
            known.activate()
            warm = max(200, frames // 10)
            for peer in (known, unknown, keyless):
                bombard(peer, warm, rng)
            before = megabytes(federation.server.pid)
            unanswered = 0
            for title, peer in {
                "registered": known,
                "unregistered": unknown,
                "without a key": keyless,
                "": None,
            }.items():
                came = raw(address, frames, rng) if peer is None else bombard(peer, frames, rng)
                unanswered += sum(came[status] for status in UNANSWERED)
                now = megabytes(federation.server.pid)
                print(f"{title or 'not gRPC':>15}: {dict(came.most_common())}; the server has {now:.0f} MB", flush=True)
            after = megabytes(federation.server.pid)
            assert federation.server.poll() is None, federation.log("server")[-3000:]
            federation.command("status")
            print(
                f"The server goes on; it had {before:.0f} MB after the first {warm} of each kind, {after:.0f} MB at the end."
            )
            return 0 if after < before * 1.1 + 10 and not unanswered else 1
        finally:
            federation.end()


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
