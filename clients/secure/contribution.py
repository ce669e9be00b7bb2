"""What a client adds to a masked sum, as real numbers: its update by its weight, the changes of its buffers, and a few numbers.

[ p_i (theta_i - omega) | p_i (buffers_i - buffers) | n_i / n loss_i, p_i number_i, ... ]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from clients.secure.round_secrets import RoundSecrets
from fl_config.errors import ConfigError
from fl_config.noise import normal
from fl_protocol.arrays import from_record
from fl_protocol.contributions import LOSS, Contributions
from fl_protocol.layout import Layout
from fl_protocol.messages import Train
from fl_protocol.replies import Trained

Update = NDArray[np.float64]
# Numbers of an update that a server step may ask for (`summed` of a ServerStep), of which the server learns the weighted mean.
NUMBERS: dict[str, Callable[[Update], float]] = {"squared_norm": lambda update: float(np.square(update).sum())}


def weighted(update: Update, agreed: RoundSecrets, order: Train) -> Update:
    """p_i Delta_i over the parameters, the last time that the update is seen in the clear.

    With differential privacy it is clipped and noised here: p_i min(1, C / ||Delta_i||) Delta_i + N(0, z^2 S^2 / t), S = C max p. One
    client changes the sum by S at most, and the t clients without whom there is no sum have the variance z^2 S^2 together; more
    of them have more.
    """
    if order.noise is None:
        return agreed.weight * update
    clip, multiplier = order.noise.clip, order.noise.multiplier
    length = math.sqrt(float(np.square(update).sum()))
    deviation = multiplier * clip * max(agreed.weights) / math.sqrt(agreed.threshold)
    drawn = normal(update.size, order.noise.seed, order.round, agreed.place)
    return agreed.weight * min(1.0, clip / max(length, sys.float_info.min)) * update + deviation * drawn


def contribution(order: Train, trained: Trained, parameters: Sequence[str], agreed: RoundSecrets) -> Update:
    """The vector before fixed point and masks. `parameters` are the names of the arrays that are trained."""
    assert order.masks is not None, "nothing is masked without them"
    if odd := [name for name in order.masks.numbers if name not in NUMBERS]:
        raise ConfigError(
            f"The server sums {odd[0]!r}, which this client does not compute; it knows {', '.join(NUMBERS)}."
        )
    sent, own = from_record(order.arrays), trained.arrays
    layout = Layout.of(sent, [name for name in sent if name in set(parameters)])
    update = (layout.pack(own) - layout.pack(sent)).astype(np.float64)
    buffers = {
        name: agreed.weight * (own[name].astype(np.float64) - sent[name].astype(np.float64)) for name in layout.buffers
    }
    numbers = {name: agreed.weight * NUMBERS[name](update) for name in order.masks.numbers}
    numbers[LOSS] = agreed.size * trained.metrics[LOSS]
    whole = Contributions(layout, tuple(order.masks.numbers))
    return whole.joined(weighted(update, agreed, order), buffers, numbers)
