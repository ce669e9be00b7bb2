"""FedSSG, the server's half: it counts participations, gates by them, and adds the gated memories to the average.

Zhou et al., "FedSSG: Expectation-Gated and History-Aware Drift Alignment for Federated Learning"; the client's half,
with the three variants and their switches, is `clients.objectives.ssg`.

    rho_i = c_i / (T p) + 1                      c_i: aggregated participations of i, this round included
    H  <- H + sum_S rho_i Delta_i                H = sum_all h_i
    s+ = s + (1/N) sum_S q_i (s_i+ - s_i)
    omega+ = sum_S p_i theta_i + H / N           server=cohort: + (1/m) sum_S h_i

A count rises only when the reply is aggregated, so a lost reply or a retry cannot count twice; counts are part of the
checkpoint. Weights touch the average of theta only. H has no decay: watch `ssg/memory_norm` = |H| / N.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clients.objectives.ssg import SsgParams
from fl_config.errors import ConfigError
from fl_config.parts import half
from fl_protocol.types import ClientId, Matrix, State, Vector
from fl_strategies.population.tally import Tally
from fl_strategies.round.cohort import Cohort, Population, norm, weighted_sum
from fl_strategies.server_update.average import average
from fl_strategies.server_update.base import RoundSettings, ServerStep
from fl_strategies.server_update.scaffold import relative_sizes_of

COUNTS = "counts"


class DivergedError(ConfigError):
    """The method's memory blew up; the message is a sentence for the user."""


def gate(params: SsgParams, count: int, settings: RoundSettings) -> float:
    """rho_i for a client whose participations, this round included, are `count`."""
    p = params.resolved()
    if p.gate == "one":
        return 1.0
    if p.gate == "ratio":
        rho = count / (settings.fraction * settings.round + p.eps)
    else:
        rho = count / (settings.rounds * settings.fraction) + (1.0 if p.gate == "horizon+1" else 0.0)
    return min(rho, 1.0) if p.clip_gate else rho


def ssg(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    gates: NDArray[np.float64],
    num_clients: int,
    relative_sizes: NDArray[np.float64] | None = None,
    delta_s: Matrix | None = None,
    memories: Matrix | None = None,
    averaged: Vector | None = None,
) -> tuple[Vector, State]:
    """state: H, s [d]; gates rho [m]. delta_s [m, d] with q [m] feeds s, memories h_i+ [m, d] are for server=cohort.

    `averaged` is what a server optimiser made of the replies; None takes the weighted average.
    """
    if averaged is None:
        averaged, _ = average(omega, updates, weights, {})
    memory = state["H"] + weighted_sum(gates, updates)
    new = {**state, "H": memory}
    if delta_s is not None:
        factors = np.ones(len(delta_s)) if relative_sizes is None else relative_sizes
        new["s"] = state["s"] + weighted_sum(factors, delta_s) / num_clients
    aligned = memory / num_clients if memories is None else memories.mean(axis=0, dtype=np.float64)
    return (averaged + aligned).astype(np.float32), new


@half("ssg")
class Ssg(ServerStep):
    Params = SsgParams
    needs_horizon = True

    def __init__(self, params: SsgParams) -> None:
        super().__init__(params.resolved())
        self._read: tuple[object, Tally] = (None, Tally())  # the counts, and the array that they were read from

    def init(self, dim: int) -> State:
        state: State = {"H": np.zeros(dim), "population": np.zeros(1, dtype=np.int64), **Tally().write(COUNTS)}
        if self.params.correction == "feddc_state":
            state["s"] = np.zeros(dim)
        if self.params.correction == "previous_moves":
            state["move"] = np.zeros(dim, dtype=np.float32)
            state["move_lr"] = np.ones(1)  # any rate will do for a move of zero
        return state

    def broadcast(self, state: State) -> dict[str, Vector]:
        return {name: state[name].astype(np.float32) for name in ("s", "move") if name in state}

    def scalars(
        self, state: State, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        numbers = {
            "q": population.relative_size(client),
            "gate": gate(self.params, self.counts(state).get(client, 0) + 1, settings),
            "steps": float(population.steps(settings.epochs, settings.batch_size)),
        }
        if "move_lr" in state:
            numbers["move_lr"] = float(state["move_lr"][0])
        return numbers

    def uploads(self) -> tuple[str, ...]:
        state = ("delta_s",) if self.params.correction == "feddc_state" else ()
        return (*state, "h") if self.params.server == "cohort" else state

    def drift(
        self, omega: Vector, averaged: Vector, cohort: Cohort, state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        counts = self.counts(state).copy()
        counts.update({client: counts.get(client, 0) + 1 for client in cohort.ids})
        new_omega, new = ssg(
            omega,
            cohort.updates,
            cohort.share,
            state,
            gates=np.array([gate(self.params, counts[client], settings) for client in cohort.ids]),
            num_clients=cohort.population.count,
            relative_sizes=relative_sizes_of(cohort),
            delta_s=cohort.extras["delta_s"] if self.params.correction == "feddc_state" else None,
            memories=cohort.extras["h"] if self.params.server == "cohort" else None,
            averaged=averaged,
        )
        new |= {"population": np.array([cohort.population.count]), **counts.write(COUNTS)}
        if "move" in state:
            new |= {"move": new_omega - omega, "move_lr": np.array([settings.lr])}
        if not np.isfinite(new_omega).all():
            raise DivergedError(
                f"FedSSG's memory overflowed in round {settings.round} (|H|/N was {self.memory_norm(state):.3g}): "
                "lower --lr, set --clip, or try ssg.gate=one."
            )
        return new_omega, new

    def counts(self, state: State) -> Tally:
        """c_i of everyone who ever took part; read once per change."""
        array = state[f"{COUNTS}/others"]
        if self._read[0] is not array:
            self._read = array, Tally.read(state, COUNTS)
        return self._read[1]

    def memory_norm(self, state: State) -> float:
        return norm(state["H"]) / max(1, int(state["population"][0]))

    def metrics(self, state: State) -> dict[str, float]:
        return {"ssg/memory_norm": self.memory_norm(state)}
