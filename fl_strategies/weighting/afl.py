"""Agnostic federated learning: the weights follow the clients that the model serves worst.

Mohri et al., "Agnostic Federated Learning", ICML 2019: min_w max_{lambda in simplex} sum_i lambda_i F_i(w).
    omega+   = sum_S (lambda_i / sum_S lambda) theta_i
    lambda+  = P(lambda + eta (N/m) F(omega) on S), P = Euclidean projection on the simplex over all N clients
F_i(omega) is client i's training loss at the model it received, before it trains. The paper takes one gradient from
every client; here clients train locally, and a sampled client's ascent is scaled by N/m to stay unbiased. The paper's
averaged iterate is a model, not a weight over this round's clients, so it is not offered here.
"""

from __future__ import annotations

import logging
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_config.parts import part
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Weighed, Weighting, Weights
from fl_strategies.weighting.remembered import recall

LAMBDA = "lambda"

log = logging.getLogger("fedloom")


def project_simplex(v: ArrayLike) -> NDArray[np.float64]:
    """The point of {x >= 0, sum x = 1} nearest to v: max(v - t, 0) with the one t that makes the sum 1.

    With u = v sorted downwards, rho = max{j : u_j + (1 - sum_{k<=j} u_k) / j > 0} coordinates stay positive.
    """
    point = np.asarray(v, dtype=np.float64)
    if point.ndim != 1 or point.size == 0 or not np.isfinite(point).all():
        raise ConfigError(f"A simplex projection needs a vector of finite numbers, but {point.tolist()} was given.")
    point = point - point.max()  # a constant does not move the projection, and large losses would eat the 1 below
    descending = np.sort(point)[::-1]
    slack = (1.0 - np.cumsum(descending)) / np.arange(1, point.size + 1)
    rho = int(np.flatnonzero(descending + slack > 0)[-1])
    projected: NDArray[np.float64] = np.maximum(point + slack[rho], 0.0)
    return projected


class AflParams(Params):
    lr: float = Field(
        default=0.001, ge=0, description="Step of the weights on the clients' losses; 0 keeps them equal."
    )


@part(
    "afl",
    slot="weighting",
    what="weights climb where the loss is largest",
    equation=r"""
        \omega^{+} &= \sum_{i \in S} \frac{\lambda_i}{\sum_{j \in S} \lambda_j} \, \theta_i \\
        \lambda^{+} &= \Pi_{\Delta} \Bigl( \lambda + \eta_\lambda \, \frac{N}{m} \, F(\omega) \text{ on } S \Bigr)
    """,
    paper="afl",
    year=2019,
)
class Afl(Weighting):
    Params: ClassVar[type[Params]] = AflParams
    reports: ClassVar[tuple[str, ...]] = ("initial_loss",)

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        rows = cohort.population.rows(cohort.ids)
        everyone = cohort.population.count
        lam = recall(state, LAMBDA, cohort, 1.0 / everyone)
        weights = _on_cohort(lam[rows])
        losses = _finite_losses(cohort)
        lam[rows] += self.params.lr * (everyone / len(rows)) * losses
        following = project_simplex(lam)
        metrics = {
            "afl/loss_worst": float(losses.max()),
            "afl/lambda": following[rows].tolist(),
            "afl/effective_clients": float(1.0 / np.square(following).sum()),
        }
        return weights, {**state, LAMBDA: following}, metrics


def _on_cohort(lam: Weights) -> Weights:
    if lam.sum() > 0:
        share: Weights = lam / lam.sum()
        return share
    log.warning("AFL gives every client of this round the weight 0: weighting them equally.")
    return np.full(lam.size, 1.0 / lam.size)


def _finite_losses(cohort: Cohort) -> Weights:
    if "initial_loss" not in cohort.metrics:
        raise ConfigError("AFL needs each client's loss before training, but the replies carry no 'initial_loss'.")
    losses = np.asarray(cohort.metrics["initial_loss"], dtype=np.float64)
    finite = np.isfinite(losses)
    if finite.all():
        return losses
    # A diverged client is at least as badly served as any other; its NaN must not reach lambda.
    worst = float(losses[finite].max()) if finite.any() else 0.0
    log.warning(
        "AFL takes the largest finite loss for %s, whose own is not finite.",
        [client for client, ok in zip(cohort.ids, finite, strict=True) if not ok],
    )
    return np.where(finite, losses, worst)
