"""Local differential privacy by Flower's own mod: a client's model update is clipped and noised before it leaves.

The Gaussian mechanism with C = `dp-clip`, epsilon, delta: two updates of norm C or less differ by 2C or less, and the noise has the
deviation 2C sqrt(2 ln(1.25 / delta)) / epsilon. The cost is of one reply; over T rounds it adds up (fl_strategies/round/privacy/local_cost.py). The noise is not a function of
the run's seed, which everybody knows. Not covered are the few numbers beside the model: size, steps, training loss, and Disco's scalar.
"""

from __future__ import annotations

from flwr.app import Context, Message, MessageType
from flwr.clientapp.mod import LocalDpMod
from flwr.clientapp.typing import ClientAppCallable


def differential_privacy(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """A mod for a ClientApp; does nothing unless the run has `dp-clip` and means it for its clients."""
    clip, central = float(context.run_config.get("dp-clip", 0.0)), context.run_config.get("dp") == "central"
    if not clip or central or message.metadata.message_type.split(".")[0] != MessageType.TRAIN:
        return call_next(message, context)
    epsilon, delta = float(context.run_config["dp-epsilon"]), float(context.run_config["dp-delta"])
    return LocalDpMod(clip, 2 * clip, epsilon, delta)(message, context, call_next)
