"""Flower ClientApp: message -> client -> reply. Wiring only."""

from __future__ import annotations

import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from clients.hosting import client_of
from clients.privacy import differential_privacy
from fl_protocol.messages import setup_in

app = ClientApp(mods=[differential_privacy])
setattr(app, "reads_in_place", True)  # noqa: B010 (for the ray engine: a client copies what it keeps of a message)


@app.query()
@app.train()
@app.evaluate()
def answer(message: Message, context: Context) -> Message:
    torch.set_num_threads(1)  # one thread per client: the same bits wherever it runs
    client = client_of(context.run_config, context.node_config, context.state, setup_in(message.content))
    return client.answer(message)
