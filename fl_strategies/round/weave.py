"""The server's half of a recipe at work: weigh, normalise, optimise, correct drift, polish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_protocol.messages import Named
from fl_protocol.types import ClientId, State, Vector
from fl_strategies.parts import PARTS
from fl_strategies.recipes import Recipe
from fl_strategies.round.cohort import Cohort, Population, weighted_sum
from fl_strategies.round.membership import Questions, Totals
from fl_strategies.round.privacy.protection import Protection
from fl_strategies.round.privacy.spending import KEY
from fl_strategies.round.resources import ServerResources
from fl_strategies.round.state import RunState
from fl_strategies.server_update.average import Average
from fl_strategies.server_update.base import RoundSettings, ServerStep
from fl_strategies.weighting.base import Metrics, Weighting, Weights

AVERAGE = "average"  # the server optimiser where the recipe names none


class Weave:
    def __init__(
        self,
        recipe: Recipe,
        params: Mapping[str, Params],
        server: ServerResources | None,
        protection: Protection | None = None,
    ) -> None:
        self.recipe, self.params, self.protection = recipe, params, protection or Protection()
        self.protection.check(recipe)
        self.weighting: Weighting = self._made(Weighting.kind, recipe.weighting, params[recipe.weighting])
        self.outgoing: Weighting = self._made(Weighting.kind, recipe.outgoing, PARTS[recipe.outgoing].params())
        self.steps: dict[str, ServerStep] = {
            name: self._made(ServerStep.kind, name, params[name]) for name in recipe.server_steps
        }
        self.optimizer = recipe.one("server optimizer") or AVERAGE
        if self.optimizer == AVERAGE:
            self.steps[AVERAGE] = Average(Params())
        learner = next((name for name, part in self._acting().items() if part.needs_target), None)
        if server is None and learner:
            raise ConfigError(
                f"{learner!r} learns on the server's unlabelled target data: give the strategy ServerResources with a target."
            )
        self.server = server or ServerResources.nothing()

    @staticmethod
    def _made(kind: str, name: str, params: Params) -> Any:
        return PARTS[name].half(kind)(params)

    def _acting(self) -> dict[str, Weighting | ServerStep]:
        return {self.recipe.weighting: self.weighting, **self.steps}

    @property
    def needs_horizon(self) -> str | None:
        """The part that must know how many rounds there will be, if one does."""
        return next((name for name, part in self._acting().items() if part.needs_horizon), None)

    # What clients are told

    def questions(self) -> Questions:
        def asks(totals: Totals) -> dict[str, dict[str, Any]]:
            return {name: self.weighting.ask_arguments(name, totals) for name in self.weighting.asks}

        return Questions(self.recipe.weighting, self.weighting.sums, asks)

    def round_sums(self, round: int, last_round: int) -> dict[str, dict[str, Any]]:
        """Vectors that are summed over the round's cohort, with their arguments."""
        wanted = self.weighting.round_sums if self.weighting.sums_in(round, last_round) else ()
        return {name: self.weighting.sum_arguments(name, round, self.server.seed) for name in wanted}

    def named(self, name: str) -> Named:
        """A part as a message names it."""
        return name, self.params[name].model_dump() if name in self.params else {}

    @property
    def report(self) -> list[str]:
        return list(self.weighting.reports)

    def broadcast(self, state: RunState) -> dict[str, Vector]:
        return {
            name: array for part, step in self.steps.items() for name, array in step.broadcast(state.of(part)).items()
        }

    def scalars(
        self, state: RunState, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        numbers: dict[str, float] = {}
        for part, step in self.steps.items():
            numbers |= step.scalars(state.of(part), client, population, settings)
        return numbers

    def uploads(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps.values() for name in step.uploads())

    def init(self, dim: int) -> dict[str, State]:
        return {name: step.init(dim) for name, step in self.steps.items()}

    # One round

    def weights_before(self, cohort: Cohort, state: RunState) -> tuple[Weights, Metrics]:
        """The weights of clients that have yet to train, and what is worth recording of them."""
        weights, _, metrics = self.weighting.weights(cohort, state.of(self.recipe.weighting), self.server)
        return weights, metrics

    def summed(self) -> tuple[str, ...]:
        """Numbers of the updates that steps need beside the weighted mean, where that is all that is known."""
        return tuple(dict.fromkeys(name for step in self.steps.values() for name in step.summed or ()))

    def step(
        self, state: RunState, cohort: Cohort, settings: RoundSettings, last_round: int
    ) -> tuple[Weights, Metrics]:
        """Update state.omega (and every part's state) by the replies; returns the weights used and what is worth recording."""
        sent, parts = state.omega, dict(state.parts)
        server = self.server.with_buffers(state.buffers)
        name = self.recipe.weighting
        if (fixed := cohort.agreed if cohort.agreed is not None else self.protection.weights(cohort)) is not None:
            weights, metrics = fixed, Metrics()
        elif self.weighting.decides(settings.round):
            weights, parts[name], metrics = self.weighting.weights(cohort, state.of(name), server)
        else:
            weights, _, metrics = self.outgoing.weights(cohort, {}, server)
        updates = cohort.updates
        if normaliser := self.recipe.one("normaliser"):
            updates = self.steps[normaliser].normalise(cohort, weights)
        released = self.protection.release(cohort, updates, weights, state.of(KEY))
        updates, shares, parts[KEY], told = released
        optimizer = self.steps[self.optimizer]
        omega, parts[self.optimizer] = optimizer.optimise(sent, updates, shares, state.of(self.optimizer), settings)
        metrics |= told
        if drift := self.recipe.one("drift"):
            omega, parts[drift] = self.steps[drift].drift(sent, omega, cohort, state.of(drift), settings)
        if polish := self.recipe.one("polish"):
            omega = self.steps[polish].polish(omega, cohort, server, settings)
        if not np.isfinite(omega).all():
            raise ConfigError(
                f"The global model is no longer finite after round {settings.round}: lower --lr, or set --clip."
            )
        state.omega = omega
        if self.weighting.customises(settings.round, last_round):
            own, parts[name], learned = self.weighting.customised(cohort, parts.get(name, {}), server)
            state.customised = (sent + weighted_sum(own, cohort.updates)).astype(np.float32)
            metrics |= learned
        if self.weighting.keeps_models(settings.round, last_round):
            state.client_models = dict(zip(cohort.ids, sent + cohort.updates, strict=True))
        state.parts = {part: own_state for part, own_state in parts.items() if own_state or part in state.parts}
        for part, step in self.steps.items():
            metrics |= step.metrics(state.of(part))
        return weights, metrics

    def served(self, state: RunState) -> Vector:
        if state.customised is not None:
            return state.customised
        return self.steps[self.optimizer].evaluated(state.omega, state.of(self.optimizer))

    def models_to_evaluate(self, state: RunState) -> dict[str, Vector]:
        """By prefix of their metrics: the served model, and beside a customised one also what goes out."""
        models = {"global": self.served(state)}
        if state.customised is not None:
            models["outgoing"] = state.omega
        return models
