"""Models that are scored beside the global one: the mean of a round's client models, and the mean of all clients' last ones.

    cohort      (1 / m) sum over the round's clients of theta_i
    population  (1 / N) sum over all clients of the theta_i that each sent last; omega^0 for a client that has not trained yet

Papers on client drift report one of these two, with equal weights, and not the model that goes out. The second is a running sum of
theta_i - omega^0, moved by theta_i_new - theta_i_old of the round's clients. Theta_i_old lies in a memory of its own on the server's
disk, under the round in which it came, so that a resumed run finds the one that its checkpoint means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError, nearest
from fl_protocol.types import Arrays, ClientId, Vector
from fl_strategies.round.cohort import Cohort, weighted_sum
from fl_strategies.round.state import RunState
from fl_strategies.server_update.average import average_buffers

SERVER, COHORT, POPULATION = "server", "cohort", "population"
SCORED = (SERVER, COHORT, POPULATION)
THETA = "theta"


class LastModel(Protocol):
    """What is kept of one client, filed under rounds (`clients.state.FolderMemory` is one)."""

    def load(self, round: int) -> dict[str, NDArray[np.float32]]: ...
    def save(self, round: int, arrays: dict[str, NDArray[np.float32]]) -> None: ...
    def keep(self, rounds: Iterable[int]) -> None: ...


LastModels = Callable[[ClientId], LastModel]


def chosen_models(text: str, strategy: str, topology: Any) -> tuple[str, ...]:
    """The models that `--score` names, checked to have a meaning under the strategy's topology."""
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for name in names:
        if name not in SCORED:
            raise ConfigError(
                f"--score takes {', '.join(SCORED)}, several with commas, but {name!r} was given{nearest(name, SCORED)}"
            )
    means = [name for name in names if name != SERVER]
    if means and (topology.several_models or topology.private or topology.shares_nothing):
        raise ConfigError(
            f"--score {means[0]} averages whole client models, and under the strategy {strategy!r} clients keep a part of theirs or "
            "train several: leave it out, or choose a strategy whose clients share one whole model."
        )
    return names


class Means:
    """The means that are asked for; `score` names them, and the population's needs `last_models`."""

    def __init__(self, score: Sequence[str], last_models: LastModels | None) -> None:
        self.score, self.last_models = score, last_models
        if POPULATION in score and last_models is None:
            raise ConfigError(
                "The score 'population' needs every client's last model: give the strategy last_models, such as "
                "lambda client: FolderMemory(folder, client) of clients.state."
            )
        self.of_cohort: tuple[int, Vector, Arrays] | None = None  # its round, parameters, buffers

    def open(self, state: RunState) -> None:
        """Begin with omega^0 for everybody, where the state to go on from has not begun."""
        if POPULATION not in self.score or POPULATION in state.parts:
            return
        if state.buffers:
            raise ConfigError(
                f"--score population is the mean of parameters, and the model also has buffers, such as {next(iter(state.buffers))!r}: "
                "choose a model without batch normalisation, or score the cohort."
            )
        moved = np.zeros(len(state.omega), dtype=np.float64)
        state.parts[POPULATION] = {"first": state.omega, "moved": moved, "clients": np.ones(1, dtype=np.int64)}

    def update(self, state: RunState, cohort: Cohort, buffers: Sequence[Arrays], saved: Mapping[ClientId, int]) -> None:
        """Take in a round; `state.acked` and `saved` say which round each client was last used in, now and in the checkpoint."""
        if COHORT in self.score:
            equal = np.full(len(cohort.ids), 1 / len(cohort.ids))
            theta = (cohort.sent + weighted_sum(equal, cohort.updates)).astype(np.float32)
            self.of_cohort = cohort.round, theta, average_buffers(buffers, equal)
        if POPULATION in self.score:
            known = state.of(POPULATION)
            moved = known["moved"].copy()
            for client, update in zip(cohort.ids, cohort.updates, strict=True):
                moved += self._replaced(cohort.sent + update, cohort.round, client, state, saved.get(client, 0))
            clients = np.array([cohort.population.count], dtype=np.int64)
            state.parts[POPULATION] = {**known, "moved": moved, "clients": clients}

    def _replaced(
        self, theta: Vector, round: int, client: ClientId, state: RunState, saved: int
    ) -> NDArray[np.float64]:
        """theta_i_new - theta_i_old; the new one is filed, and rounds that nobody can go on from are forgotten."""
        assert self.last_models is not None
        memory, last = self.last_models(client), state.acked.get(client, 0)
        old = memory.load(last).get(THETA) if last else state.of(POPULATION)["first"]
        if old is None:
            raise ConfigError(
                f"The last model of client {client}, of round {last}, is no longer there, without which --score population cannot go "
                "on: restore the run folder, or start the run anew."
            )
        memory.keep({last, saved})
        memory.save(round, {THETA: theta})
        difference: NDArray[np.float64] = theta.astype(np.float64) - old
        return difference

    def models(self, state: RunState) -> dict[str, tuple[Vector, Arrays]]:
        """Parameters and buffers by the prefix of their metrics, as far as there are any after this round."""
        found: dict[str, tuple[Vector, Arrays]] = {}
        if self.of_cohort is not None and self.of_cohort[0] == state.round + 1:
            found[COHORT] = self.of_cohort[1:]
        if POPULATION in self.score:
            known = state.of(POPULATION)
            mean = known["first"] + known["moved"] / int(known["clients"][0])
            found[POPULATION] = mean.astype(np.float32), {}
        return found
