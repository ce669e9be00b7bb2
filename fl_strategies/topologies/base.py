"""Which arrays a client gets and which it gives back, and what models come of it. This base: one model for all.

Clients may keep a part of that model private (`clients.personal`: local, per, babu). A part that gives clients more than one model,
such as `clustering.clusters`, overrides what differs; the strategy asks only what is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message
from numpy.typing import NDArray

from clients.client import ARRAYS
from clients.personal import private_names
from fl_config.params import Params
from fl_protocol.layout import Layout
from fl_protocol.replies import ClientReply
from fl_protocol.types import Arrays, ClientId, Vector
from fl_strategies.round.membership import Membership
from fl_strategies.round.records import Record
from fl_strategies.round.state import RunState

Pack = Callable[[ClientId], dict[str, ArrayRecord]]  # a client's array records
# Sends clients training messages without arrays, with this method, and yields the replies and who sent them.
Ask = Callable[[Sequence[ClientId], dict[str, Any]], Iterable[tuple[ClientId, Message]]]


class Topology:
    def __init__(self, private: str | None, params: Params | None = None) -> None:
        self.private = private

    def check(self, clients: int) -> None:
        """Raise a sentence if it cannot be with so many clients."""

    def open(self, named: Arrays, members: Membership) -> Layout:
        """Learn the model that everybody starts from."""
        private = private_names(self.private, named, members.head_names)
        self.layout = Layout.of(named, members.parameter_names(named), private)
        return self.layout

    def adopt(self, state: RunState) -> None:
        """Put what it remembers into a new run's state, where a checkpoint has it."""

    def prepare(self, state: RunState, members: Membership, ask: Ask) -> Record:
        """Learn what must be known of the clients that are there before they train; returns what is worth recording."""
        return {}

    # One round

    def method(self, state: RunState, client: ClientId) -> dict[str, Any]:
        """What a training message says of the topology."""
        return {"topology": self.private}

    def training(self, state: RunState, arrays: ArrayRecord) -> Pack:
        """Made once a round, so that clients share the arrays' bytes."""
        return lambda client: {ARRAYS: self._shared(state, client, arrays)}

    def evaluation(self, state: RunState, arrays: ArrayRecord) -> Pack:
        """The model that a client's personalised one starts from."""
        return self.training(state, arrays)

    def groups(self, state: RunState, client: ClientId) -> dict[str, Layout]:
        """Array records that this client sends up beside its model."""
        return {}

    def aggregate(self, state: RunState, replies: list[ClientReply], weights: NDArray[np.float64]) -> Record:
        """Average what came beside the models; the weights are those of the cohort."""
        return {}

    # Models and numbers

    def served(self, state: RunState, vector: Vector) -> Arrays:
        """The model that is evaluated and saved."""
        return self.layout.unpack(vector, state.buffers)

    def evaluated(self, state: RunState, vectors: Mapping[str, Vector]) -> dict[str, Arrays]:
        """Models that the server evaluates, by the prefix of their metrics."""
        if self.private in ("local", "per"):
            return {}  # the shared model has no head of its own
        return {prefix: self.served(state, vector) for prefix, vector in vectors.items()}

    def remarks(self, state: RunState, record: Record) -> Record:
        """More numbers for a round's record, from those that are in it."""
        return {}

    def _shared(self, state: RunState, client: ClientId, arrays: ArrayRecord) -> ArrayRecord:
        """Everything for a client that has no private arrays yet, what is shared for the others."""
        if not self.layout.private or not state.acked.get(client, 0):
            return arrays
        return ArrayRecord({name: array for name, array in arrays.items() if name not in self.layout.private})
