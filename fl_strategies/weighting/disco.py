"""Discrepancy-aware weights: larger for clients with more data and with classes closer to the target.

Ye et al., "FedDisco: Federated Learning with Discrepancy-Aware Collaboration", ICML 2023, eq. (3):
    p_k = ReLU(n_k - a d_k + b) / sum_m ReLU(n_m - a d_m + b),   n_k = relative size, d_k = discrepancy of client k
The equation does not say that KL is divided by its sum over the clients at hand, but the authors' numbers need it
(a = 0.5 would silence almost everybody otherwise), so that is the default; L1, L2 and cosine stay as they are.
Deviations: all terms at or below 0 fall back to the relative sizes with a warning (the paper leaves this open);
exact zeros are kept. Everything is recomputed on the round's cohort; `scope=all` computes it once over everybody and
renormalises on the cohort.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, field_validator

from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_config.parts import part
from fl_data.discrepancy import GLOBAL, Metric, discrepancy, target_distribution
from fl_protocol.types import ClientId, State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Sums, Weighed, Weighting, Weights

__all__ = ["Disco", "DiscoParams", "Normalise", "disco_weights", "discrepancy", "effective_clients"]

Normalise = Literal["auto", "always", "never"]

log = logging.getLogger("fedloom")


def disco_weights(
    sizes: ArrayLike,
    discrepancies: ArrayLike,
    a: float = 0.5,
    b: float = 0.1,
    metric: Metric | str = "kl",
    *,
    normalise: Normalise | str = "auto",
) -> Weights:
    """p of eq. (3) from absolute sizes and raw discrepancies; `normalise=auto` divides only KL by its sum."""
    size = np.asarray(sizes, dtype=np.float64)
    gap = np.asarray(discrepancies, dtype=np.float64)
    _check(size, gap, normalise)
    share: Weights = size / size.sum()
    if normalise == "always" or (normalise == "auto" and metric == "kl"):
        total = gap.sum()
        gap = gap / total if total > 0 else np.zeros_like(gap)
    raw = np.maximum(share - a * gap + b, 0.0)
    if raw.sum() <= 0:
        log.warning("Disco left no client with a positive weight (a=%g, b=%g): weighting by size instead.", a, b)
        return share
    weights: Weights = raw / raw.sum()
    return weights


def effective_clients(weights: Weights) -> float:
    """1 / sum p^2: m for equal weights, 1 when a single client counts."""
    return float(1.0 / np.square(weights).sum())


def _check(size: Weights, gap: Weights, normalise: str) -> None:
    if size.ndim != 1 or size.size == 0 or size.shape != gap.shape:
        raise ConfigError(
            f"Disco needs one size and one discrepancy per client, but got shapes {size.shape} and {gap.shape}."
        )
    if not np.isfinite(size).all() or (size < 0).any() or size.sum() <= 0:
        raise ConfigError(f"Disco needs sizes that are not negative and not all 0, but {size.tolist()} was given.")
    if not np.isfinite(gap).all() or (gap < 0).any():
        raise ConfigError(f"Disco needs finite discrepancies of at least 0, but {gap.tolist()} was given.")
    if normalise not in ("auto", "always", "never"):
        raise ConfigError(f"Disco's normalise is auto, always or never, but {normalise!r} was given.")


class DiscoParams(Params):
    a: float = Field(default=0.5, ge=0, description="How much the discrepancy counts; 0 leaves (n_k + b) / (1 + m b).")
    b: float = Field(
        default=0.1, description="Added to every client before the ReLU; larger is closer to equal weights."
    )
    metric: Metric = Field(default="kl", description="How a client's classes are compared with the target.")
    normalise: Normalise = Field(
        default="auto", description="Divide the discrepancies by their sum: auto does so for kl only, always, never."
    )
    scope: Literal["round", "all"] = Field(
        default="round",
        description="Weigh among the round's clients, or once among all and renormalise on the round's.",
    )
    target: str = Field(
        default="uniform",
        description="Distribution that clients are compared with: uniform, a comma list of class probabilities, or "
        "global (the joint distribution of the clients before round 1, by a secure sum of three or more).",
    )

    @field_validator("target")
    @classmethod
    def _target_is_readable(cls, text: str) -> str:
        if text != GLOBAL:
            target_distribution(text)
        return text


@part(
    "disco",
    slot="weighting",
    what="p_i ~ ReLU(n_i - a d_i + b)",
    equation=r"p_k = \frac{\mathrm{ReLU}(n_k - a \, d_k + b)}{\sum_{m \in S} \mathrm{ReLU}(n_m - a \, d_m + b)}",
    paper="feddisco",
    year=2023,
)
class Disco(Weighting):
    Params: ClassVar[type[Params]] = DiscoParams
    needs = ("classes",)
    asks: ClassVar[tuple[str, ...]] = ("discrepancy",)
    known_before_training = True

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        # The clients' joint class distribution is known only from a secure sum over all of them.
        vars(self)["sums"] = ("class_counts",) if params.target == GLOBAL else ()
        self._overall: tuple[object, dict[ClientId, float]] = (
            None,
            {},
        )  # everyone's weight, and the population it is of

    def ask_arguments(self, name: str, sums: Sums) -> dict[str, Any]:
        if self.params.target == GLOBAL:
            totals = sums["class_counts"]
            return {"metric": self.params.metric, "target": (totals / totals.sum()).tolist()}
        target = target_distribution(self.params.target)
        return {"metric": self.params.metric, "target": None if target is None else target.tolist()}

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        gaps = answered_discrepancies(cohort, cohort.ids)
        weights = self._share_of_all(cohort) if self.params.scope == "all" else self._weigh(cohort.sizes, gaps)
        metrics = {"disco/effective_clients": effective_clients(weights), "disco/discrepancy": gaps.tolist()}
        return weights, state, metrics

    def _weigh(self, sizes: ArrayLike, gaps: Weights) -> Weights:
        options = self.params
        return disco_weights(sizes, gaps, options.a, options.b, options.metric, normalise=options.normalise)

    def _share_of_all(self, cohort: Cohort) -> Weights:
        population = cohort.population
        if self._overall[0] is not population:  # weighed once: with a million clients it takes longer than a round
            everyone = [client for client in population.ids if client in cohort.answers]
            weights = self._weigh([population.sizes[i] for i in everyone], answered_discrepancies(cohort, everyone))
            self._overall = population, dict(zip(everyone, weights.tolist(), strict=True))
        kept = np.array([self._overall[1][client] for client in cohort.ids])
        if kept.sum() <= 0:
            log.warning("Disco gives every client of round %d the weight 0: weighting them by size.", cohort.round)
            return cohort.share
        kept /= kept.sum()
        return kept


def answered_discrepancies(cohort: Cohort, clients: list[ClientId]) -> Weights:
    missing = [client for client in clients if "discrepancy" not in cohort.answers.get(client, {})]
    if missing:
        raise ConfigError(
            f"Disco needs the discrepancy of every client, but {', '.join(map(str, missing))} did not send it: "
            "the recipe must ask for 'discrepancy' in the query before round 1."
        )
    return np.array([cohort.answers[client]["discrepancy"] for client in clients], dtype=np.float64)
