"""Somebody with a site's key, whom the server cannot tell from the site: takes its message, answers with noise, and sends rubbish.

python -m tests.deploy.drills.thief ADDRESS AUTHORITY KEY NODE SEED
"""

from __future__ import annotations

import hashlib
import random
import sys
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.proto import fleet_pb2, message_pb2, recorddict_pb2
from flwr.proto.node_pb2 import Node

from tests.deploy.drills.bad_input import Peer, mutated, proper

SECONDS = 30.0  # in which a message of the site's is waited for
FRAMES = 30


def steal(thief: Peer, request: bytes) -> Any:
    """The next message for the site, if one comes in time."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        status, answer = thief.send("PullMessages", request)
        taken = fleet_pb2.PullMessagesResponse.FromString(answer).messages_list if status == "OK" else []
        if taken:
            return taken[0]
        time.sleep(0.05)
    return None


def spoil(thief: Peer, taken: Any, rng: random.Random) -> str:
    """Answer with one object, whose name and head fit its content, which is noise; returns what became of it."""
    noise, about = rng.randbytes(500), taken.metadata
    noise = f"Message  {len(noise)}".encode() + b"\0" + noise  # an object's kind, its parts (none) and its length
    name, node, now = hashlib.sha256(noise).hexdigest(), Node(node_id=thief.node), time.time()
    left = about.created_at + about.ttl - now - 1  # who would live longer than the question is thrown away
    reply = message_pb2.Message(
        metadata=message_pb2.Metadata(
            run_id=about.run_id, message_id=name, src_node_id=thief.node, dst_node_id=about.src_node_id,
            reply_to_message_id=about.message_id, group_id=about.group_id, ttl=left,
            message_type=about.message_type, created_at=now,
        ),
        content=recorddict_pb2.RecordDict(),  # empty as every announcement's; what it stands for is the object
    )  # fmt: skip
    tree = message_pb2.ObjectTree(object_id=name)
    pushed = fleet_pb2.PushMessagesRequest(node=node, messages_list=[reply], message_object_trees=[tree])
    status, answer = thief.send("PushMessages", pushed.SerializeToString())
    if status != "OK":
        return f"refused ({status})"
    session = fleet_pb2.PushMessagesResponse.FromString(answer).session_id
    part = message_pb2.PushObjectRequest(
        node=node, run_id=about.run_id, object_id=name, object_content=noise, session_id=session
    )
    status, answer = thief.send("PushObject", part.SerializeToString())
    kept = status == "OK" and message_pb2.PushObjectResponse.FromString(answer).stored
    return "taken" if kept else f"thrown away ({status})"


def main(address: str, authority: str, key: str, node: str, seed: str) -> None:
    own: Any = load_ssh_private_key(Path(key).read_bytes(), None)
    thief, rng = Peer(address, Path(authority).read_bytes(), own), random.Random(int(seed))
    thief.node = int(node)
    requests = proper(thief)
    taken = steal(thief, requests["PullMessages"])
    print("nothing was stolen" if taken is None else f"stolen and answered with noise: {spoil(thief, taken, rng)}")
    for _ in range(FRAMES):
        method = rng.choice(sorted(requests.keys() - {"ActivateNode", "RegisterNode"}))
        thief.send(method, mutated(requests[method], rng))


if __name__ == "__main__":
    main(*sys.argv[1:])
