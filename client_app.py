"""Flower ClientApp: message -> client -> reply. Wiring only."""

from __future__ import annotations

import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from clients.client import LocalClient, run_of
from clients.hosting import hosted_client, simulated_client
from clients.privacy import differential_privacy
from fl_config.errors import ConfigError
from fl_runs.plan import plan_of_run

app = ClientApp(mods=[differential_privacy])


def client_of(context: Context, run: str = "") -> LocalClient:
    """The client that this node is in the run: one of a divided data set, or the owner of private data."""
    plan = plan_of_run(context.run_config, on_server=False)
    wanted = "data" if plan.private else "partition-id"
    if wanted not in context.node_config:
        raise ConfigError(
            f"The run has the partition {plan.config.partition!r}, but this node's configuration has no {wanted!r}."
        )
    if plan.private:
        return hosted_client(
            plan.config,
            context.node_config,
            run,
            projection=plan.projection,
            held_out=plan.held_out,
            state=context.state,
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
    return client_of(context, run_of(message)).answer(message)
