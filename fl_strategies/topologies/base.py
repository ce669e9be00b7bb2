"""Who gets and gives which arrays, and what models come of it: the server's half of a topology.

The base is one model for all. A topology whose clients keep arrays private says which by its client's half (clients/topologies); one that
gives clients more than one model (`cuau`) overrides what differs. The strategy asks only what is here. What a topology remembers comes
in and goes out as a plain dict of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from clients.topologies.base import ClientTopology
from fl_config.params import Params
from fl_config.parts import find
from fl_protocol.arrays import Packed, chosen
from fl_protocol.layout import Layout
from fl_protocol.messages import Named
from fl_protocol.replies import BadReply, ClientReply, Probed
from fl_protocol.types import Arrays, ClientId, State
from fl_strategies.round.cohort import Population
from fl_strategies.round.records import Record

Acked = Mapping[ClientId, int]  # the last round of each client that was used
Pack = Callable[[ClientId], tuple[Packed, dict[str, Packed]]]  # a client's model, and the groups of arrays beside it
# Has clients train the initial model that they build themselves, and yields how their heads moved, or why that is not known.
Ask = Callable[[Sequence[ClientId], Layout], Iterable[tuple[ClientId, Probed | BadReply]]]


class Members(Protocol):
    """What a topology may know of the federation."""

    online: Sequence[ClientId]
    population: Population
    head_names: list[str]
    trunk_end: list[str]

    def node(self, client: ClientId) -> int: ...
    def trained_names(self, named: Iterable[str]) -> list[str]: ...


class Topology:
    kind: ClassVar[str] = "topology"
    Params: ClassVar[type[Params]] = Params
    needs: ClassVar[tuple[str, ...]] = ()  # of the task ("classes") or of the model ("head")
    name: ClassVar[str] = "shared"
    personal: ClassVar[bool] = False  # every client ends with a model of its own
    private: ClassVar[bool] = False  # clients keep a part of the model to themselves
    shares_nothing: ClassVar[bool] = False
    has_global: ClassVar[bool] = True  # the shared arrays are a whole model, which the server can evaluate
    summable: ClassVar[bool] = False  # all of a reply is one model, so that replies can be summed under masks
    several_models: ClassVar[bool] = False  # a client trains more than one model; it may stand around another topology
    fine_tuning_epochs: ClassVar[int] = 0  # before clients are scored, unless the user says otherwise

    def __init__(self, params: Any = None, inner: Topology | None = None) -> None:
        self.params = params

    def check(self, clients: int) -> None:
        """Raise a sentence if it cannot be with so many clients."""

    def private_names(self, names: Iterable[str], head: Iterable[str]) -> set[str]:
        half: ClientTopology = find(ClientTopology.kind, self.name)()
        return half.private(names, head)

    def open(self, named: Arrays, members: Members) -> Layout:
        """Learn the model that everybody starts from."""
        private = self.private_names(named, members.head_names)
        self.layout = Layout.of(named, members.trained_names(named), private)
        return self.layout

    def init(self, model: Arrays) -> State:
        """What it remembers at the start of a run."""
        return {}

    def prepare(self, state: State, members: Members, ask: Ask) -> tuple[State, Record]:
        """Learn what must be known of the clients that are there before they train; returns what is worth recording."""
        return state, {}

    # One round

    def says(self, state: State, client: ClientId) -> Named:
        """What a message says of the topology: its name and what this client's half must know."""
        return self.name, {}

    def training(self, state: State, arrays: Packed, acked: Acked) -> Pack:
        """Made once per round, so that clients share the arrays' bytes."""
        return lambda client: (self.shared(client, arrays, acked), {})

    def evaluation(self, state: State, arrays: Packed, acked: Acked) -> Pack:
        """The model that a client's personalised one starts from."""
        return lambda client: (self.shared(client, arrays, acked), {})

    def groups(self, state: State, client: ClientId) -> dict[str, Layout]:
        """Groups of arrays that this client sends up beside its model."""
        return {}

    def aggregate(self, state: State, replies: list[ClientReply], weights: NDArray[np.float64]) -> tuple[State, Record]:
        """Average what came beside the models; the weights are those of the cohort."""
        return state, {}

    # Models and numbers

    def served(self, state: State, model: Arrays) -> Arrays:
        """The model that is saved, made of the averaged one."""
        return model

    def evaluated(self, state: State, models: Mapping[str, Arrays]) -> dict[str, Arrays]:
        """Models that the server evaluates, by the prefix of their metrics."""
        if not self.has_global:
            return {}
        return {prefix: self.served(state, model) for prefix, model in models.items()}

    def remarks(self, state: State, record: Record) -> Record:
        """More numbers for a round's record, from those that are in it."""
        return {}

    def shared(self, client: ClientId, arrays: Packed, acked: Acked) -> Packed:
        """Everything for a client that has no private arrays yet, what is shared for the others."""
        if not self.layout.private or not acked.get(client, 0):
            return arrays
        return chosen(arrays, lambda name: name not in self.layout.private)
