"""The server's half of a recipe at work: weigh, normalise, optimise, correct drift, polish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_protocol.types import ClientId, State, Vector
from fl_strategies.parts import PARTS
from fl_strategies.recipes import Recipe
from fl_strategies.round.cohort import Cohort, Population, weighted_sum
from fl_strategies.round.resources import ServerSide
from fl_strategies.round.state import RunState
from fl_strategies.server_update.average import Average
from fl_strategies.server_update.base import RoundSettings, ServerStep
from fl_strategies.weighting.base import Metrics, Weighting, Weights

AVERAGE = "average"


class Weave:
    def __init__(self, recipe: Recipe, params: Mapping[str, Params], side: ServerSide | None) -> None:
        self.recipe, self.params = recipe, params
        self.weighting = self._weighting(recipe.weighting, params[recipe.weighting])
        self.outgoing = self._weighting(recipe.outgoing, PARTS[recipe.outgoing].params())
        self.steps: dict[str, ServerStep] = {}
        for name in recipe.server_steps:
            kind = PARTS[name].server
            assert kind is not None
            self.steps[name] = kind(params[name])
        if recipe.one("server optimiser") is None:
            self.steps[AVERAGE] = Average(Params())
        self.optimiser = recipe.one("server optimiser") or AVERAGE
        needs = next((name for name in recipe.parts if self._needs_target(name)), None)
        if side is None and needs:
            raise ConfigError(
                f"{needs!r} learns on the server's unlabelled target data: give the strategy a ServerSide with a target."
            )
        self.side = side

    @staticmethod
    def _weighting(name: str, params: Params) -> Weighting:
        kind = PARTS[name].weighting
        assert kind is not None
        return kind(params)

    def _needs_target(self, name: str) -> bool:
        return (name == self.recipe.weighting and self.weighting.needs_target) or PARTS[name].slot == "polish"

    # What clients are told

    def asks(self) -> dict[str, dict[str, Any]]:
        """Scalars every client answers in the query, with the arguments they are computed with."""
        return {name: self.weighting.ask_arguments(name) for name in self.weighting.asks}

    def client_method(self) -> dict[str, Any]:
        return {
            "objectives": [(name, self.params[name].model_dump()) for name in self.recipe.objectives],
            "optimizer": (
                self.recipe.optimizer,
                self.params[self.recipe.optimizer].model_dump() if self.recipe.optimizer in self.params else {},
            ),
            "report": list(self.weighting.reports),
        }

    def broadcast(self, state: RunState) -> dict[str, Vector]:
        return {
            name: array
            for part, step in self.steps.items()
            for name, array in step.broadcast(state.steps[part]).items()
        }

    def scalars(
        self, state: RunState, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        numbers: dict[str, float] = {}
        for part, step in self.steps.items():
            numbers |= step.scalars(state.steps[part], client, population, settings)
        return numbers

    def uploads(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps.values() for name in step.uploads())

    # State

    def init(self, dim: int) -> dict[str, State]:
        return {name: step.init(dim) for name, step in self.steps.items()}

    def adopt(self, state: RunState) -> None:
        """Share the weighting's state with the run's, so that a checkpoint has it."""
        if self.side is None:
            self.side = ServerSide.nothing()
        self.side.state = state.weighting
        self.side.buffers = state.buffers

    # One round

    def step(
        self, state: RunState, cohort: Cohort, settings: RoundSettings, last_round: int
    ) -> tuple[Weights, Metrics]:
        """Update state.omega (and every part's state) by the replies; returns the weights used and what is worth recording."""
        assert self.side is not None
        sent = state.omega
        self.side.buffers = state.buffers
        decides = self.weighting.decides(settings.round)
        weights, metrics = (self.weighting if decides else self.outgoing).weights(
            cohort, sent, self.side, settings.round
        )
        updates = cohort.updates
        if normaliser := self.recipe.one("normaliser"):
            updates = self.steps[normaliser].normalise(cohort, weights)
        optimiser = self.steps[self.optimiser]
        omega, new = optimiser.optimise(sent, updates, weights, state.steps[self.optimiser], settings)
        states = {**state.steps, self.optimiser: new}
        if drift := self.recipe.one("drift"):
            omega, states[drift] = self.steps[drift].drift(sent, omega, cohort, states[drift], settings)
        if polish := self.recipe.one("polish"):
            omega = self.steps[polish].polish(omega, cohort, sent, self.side, settings)
        if not np.isfinite(omega).all():
            raise ConfigError(
                f"The global model is no longer finite after round {settings.round}: lower --lr, or set --clip."
            )
        state.omega, state.steps = omega, states
        if self.weighting.customises(settings.round, last_round):
            own, learned = self.weighting.customised(cohort, sent, self.side, settings.round)
            state.customised = (sent + weighted_sum(own, cohort.updates)).astype(np.float32)
            metrics |= learned
        if self.weighting.keeps_models(settings.round, last_round):
            state.client_models = dict(zip(cohort.ids, sent + cohort.updates, strict=True))
        for name, step in self.steps.items():
            metrics |= step.metrics(states[name])
        return weights, metrics

    def served(self, state: RunState) -> Vector:
        if state.customised is not None:
            return state.customised
        return self.steps[self.optimiser].evaluated(state.omega, state.steps[self.optimiser])

    def models_to_evaluate(self, state: RunState) -> dict[str, Vector]:
        """By prefix of their metrics: the served model, and beside a customised one also what goes out."""
        models = {"global": self.served(state)}
        if state.customised is not None:
            models["outgoing"] = state.omega
        return models
