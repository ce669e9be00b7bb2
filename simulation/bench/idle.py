"""Apps without any work, to measure an engine alone: clients send back the model that they get, and the server drops it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from flwr.app import Context, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fl_config.seeds import rng
from fl_protocol.arrays import to_record
from fl_strategies.round.exchange import exchange

CLIENTS, COHORT = 1000, 100
LAYERS = {"fc1": (784, 512), "fc2": (512, 384), "fc3": (384, 10)}  # 2.4 MB in float32
TIMEOUT = 600.0

app = ClientApp()
setattr(app, "reads_in_place", True)  # noqa: B010 (it keeps nothing)


@app.train()
def idle(message: Message, context: Context) -> Message:
    return Message(RecordDict({"arrays": message.content["arrays"]}), reply_to=message)


def idle_server(rounds: int, announce: Callable[[int], None]) -> ServerApp:
    """A server that announces the end of each round."""
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        while len(nodes := sorted(grid.get_node_ids())) < CLIENTS:
            time.sleep(0.05)  # Flower's nodes register one by one
        for round in range(1, rounds + 1):
            # A new model every round, as training would make one.
            values = {name: np.full(shape, float(round), dtype=np.float32) for name, shape in LAYERS.items()}
            arrays = to_record(values)
            chosen = rng(0, "idle", round).choice(len(nodes), size=COHORT, replace=False)
            messages = [
                Message(RecordDict({"arrays": arrays}), nodes[i], MessageType.TRAIN, group_id=str(round))
                for i in chosen
            ]
            count = sum(reply.has_content() for reply in exchange(grid, messages, TIMEOUT, threading.Event()))
            if count < COHORT:
                raise RuntimeError(f"Only {count} of {COHORT} clients answered in round {round}.")
            announce(round)

    return server
