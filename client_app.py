"""Flower ClientApp: message -> client -> reply. Wiring only."""

from __future__ import annotations

import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from clients.assembly import hosted_client, simulated_client
from clients.client import LocalClient
from fl_strategies.plan import plan_of_run

app = ClientApp()


def client_of(context: Context) -> LocalClient:
    """The client that this node is: one of a partitioned data set, or the owner of private data."""
    plan = plan_of_run(context.run_config)
    if "data" in context.node_config:
        return hosted_client(
            plan.config, context.node_config, projection=plan.projection, held_out=plan.held_out, state=context.state
        )
    number = int(context.node_config["partition-id"])
    return simulated_client(
        plan.config, number, projection=plan.projection, held_out=plan.held_out, state=context.state
    )


@app.query()
@app.train()
@app.evaluate()
def answer(message: Message, context: Context) -> Message:
    torch.set_num_threads(1)  # one thread a client: the same bits wherever it runs
    return client_of(context).answer(message)
