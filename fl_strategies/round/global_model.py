"""The global model of a run: its state, how it lies in arrays, and the models that are made of it for saving and evaluating."""

from __future__ import annotations

from flwr.app import ArrayRecord

from fl_protocol.arrays import from_record, to_record
from fl_protocol.layout import Layout
from fl_protocol.types import Arrays, State
from fl_strategies.population.means import Means
from fl_strategies.round.membership import Membership
from fl_strategies.round.state import RunState
from fl_strategies.round.weave import Weave
from fl_strategies.topologies.base import Topology

SUM = "sum:"  # before a secure sum's name, among what the weighting remembers: a resumed run asks as before


class GlobalModel:
    """Opened by the first round; `state` may come from a checkpoint."""

    def __init__(self, weave: Weave, topology: Topology, state: RunState | None, means: Means) -> None:
        self.weave, self.topology, self.means = weave, topology, means
        self._state = state
        self._layout: Layout | None = None
        self._given: ArrayRecord | None = None  # as it was last handed out

    @property
    def state(self) -> RunState:
        assert self._state is not None, "the first round opens the model"
        return self._state

    @property
    def opened(self) -> bool:
        return self._layout is not None

    @property
    def begun(self) -> RunState | None:
        """The state, if there is one yet."""
        return self._state

    @property
    def layout(self) -> Layout:
        assert self._layout is not None, "the first round opens the model"
        return self._layout

    def open(self, initial: ArrayRecord, members: Membership) -> ArrayRecord:
        """Begin with the initial model, or with that of the state to go on from; returns what goes out."""
        named = from_record(initial)
        self._layout = layout = self.topology.open(named, members)
        if self._state is None:
            buffers = {name: named[name] for name in layout.buffers}
            parts = self.weave.init(layout.dim)
            self._state = RunState(0, layout.pack(named), buffers, parts, key=members.setup.run)
        self.means.open(self.state)
        if self.topology.name not in self.state.parts:
            self.remember(self.topology.init(self.model()))
        if members.totals:
            name = self.weave.recipe.weighting
            sums = {f"{SUM}{key}": total for key, total in members.totals.items()}
            self.state.parts[name] = {**self.state.of(name), **sums}
        return self.hand_out()

    def kept_sums(self) -> State:
        """Secure sums that the state to go on from has already."""
        kept = self._state.of(self.weave.recipe.weighting) if self._state else {}
        return {key.removeprefix(SUM): total for key, total in kept.items() if key.startswith(SUM)}

    def adopt(self, arrays: ArrayRecord) -> None:
        """Go on from these arrays, where a wrapper or a subclass changed those that were handed out."""
        if arrays is not self._given:
            named = from_record(arrays)
            self.state.omega = self.layout.pack(named)
            self.state.buffers = {name: named[name] for name in self.layout.buffers}
            self._given = arrays

    def hand_out(self) -> ArrayRecord:
        self._given = to_record(self.model())
        return self._given

    def model(self) -> Arrays:
        return self.layout.unpack(self.state.omega, self.state.buffers)

    # What the topology remembers

    @property
    def topology_state(self) -> State:
        return self.state.of(self.topology.name)

    def remember(self, state: State) -> None:
        if state:
            self.state.parts[self.topology.name] = state

    # Models

    def served(self) -> Arrays:
        """The model that is saved: the global one, unless the method customises it for the server's target."""
        model = self.layout.unpack(self.weave.served(self.state), self.state.buffers)
        return self.topology.served(self.topology_state, model)

    def evaluated(self) -> dict[str, Arrays]:
        """Models that the server evaluates, by the prefix of their metrics."""
        vectors = self.weave.models_to_evaluate(self.state)
        models = {prefix: self.layout.unpack(vector, self.state.buffers) for prefix, vector in vectors.items()}
        models |= {prefix: self.layout.unpack(*one) for prefix, one in self.means.models(self.state).items()}
        return self.topology.evaluated(self.topology_state, models)
