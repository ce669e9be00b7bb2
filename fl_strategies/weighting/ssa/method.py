"""Self-supervised aggregation: the server learns the clients' weights on its own unlabelled target data.

FedSSA, "Customizing Global Model for Arbitrary Target Distributions in Federated Learning", eq. (3)-(8): theta = sum_k w_k theta_k with w = argmin of
    mean_x [-cos(y^1, y^2) - lambda_var (var y^1 + var y^2) / 2] + lambda_we sum_k w_k log w_k,
    y^v = softmax(sum_k w_k z_k(x^v)),   x^1, x^2 two augmented views of x, the client models z_k frozen.
Silent in the paper, chosen here: w = softmax(v), v equal at the start of every round, SGD with Nesterov momentum,
unbiased variance. View pairs are drawn `n_view_banks` times and their logits cached (0: new views every epoch);
a target above `max_samples` is represented by a subset drawn anew each round.

Modes. The paper's Algorithm 1 is `every_round`: the learned model goes out again; it feeds on itself where the first
choices are wrong. `customise` (default) sends the size-weighted average out and keeps the learned model for the
server's own target; `post_hoc` does so on the last round only; `sample_wise` learns when predicting (ssa_samples.py).

Criteria. `views` is the paper's, above; `shares` (ours, by_shares.py) asks that the mixed model predict the target's class shares.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fl_config.params import Params
from fl_config.parts import part
from fl_config.seeds import derive
from fl_data import Augment
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Sums, Weighed, Weighting, Weights
from fl_strategies.weighting.disco import answered_discrepancies, disco_weights
from fl_strategies.weighting.remembered import recall
from fl_strategies.weighting.ssa.by_shares import SUMS, ByShares
from fl_strategies.weighting.ssa.evidence import Evidence, gather
from fl_strategies.weighting.ssa.learning import (
    Descent,
    WeightLearner,
    epochs_needed,
    learn_weights,
    loss_parts,
    sample_order,
    starting_logits,
)
from fl_strategies.weighting.ssa.loss import SsaTerms, log_softmax, ssa_loss, ssa_terms
from fl_strategies.weighting.ssa.parameters import SsaParams
from fl_strategies.weighting.ssa.samples import predict_samples
from fl_strategies.weighting.ssa.views import client_views

__all__ = ["Ssa", "SsaParams", "SsaTerms", "learn_weights", "predict_samples", "ssa_loss", "ssa_terms"]

WEIGHT_SUM, EVIDENCE, LAST = "weight_sum", "evidence", "last"

log = logging.getLogger("fedloom")


@part(
    "ssa",
    slot="weighting",
    what="weights learned on the server's unlabelled target data",
    equation=r"""
        \hat y^{v} &= \operatorname{softmax} \Bigl( \sum_k w_k \, z_k(x^{v}) \Bigr), \qquad v = 1, 2 \\
        w &= \arg\min_{w \in \Delta} \; \frac{1}{|U|} \sum_{x \in U} \Bigl[ -\cos(\hat y^1, \hat y^2)
            - \frac{\lambda_{\mathrm{var}}}{2} \, (\operatorname{var} \hat y^1 + \operatorname{var} \hat y^2) \Bigr]
            + \lambda_{\mathrm{we}} \sum_k w_k \log w_k \\
        \theta &= \sum_k w_k \, \theta_k
    """,
    paper="fedssa",
    year=2024,
)
class Ssa(Weighting):
    Params: ClassVar[type[Params]] = SsaParams
    needs = ("classes",)
    needs_target: ClassVar[bool] = True

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        # Both depend on a parameter, so they are this instance's own and not the class's.
        vars(self)["asks"] = ("discrepancy",) if params.init == "disco" else ()
        vars(self)["needs_target"] = params.mode != "sample_wise"
        vars(self)["needs_horizon"] = params.mode in ("post_hoc", "sample_wise")
        vars(self)["round_sums"] = (SUMS,) if params.criterion == "shares" else ()
        every_round = params.mode == "every_round"
        best = params.starts == "best" or (params.starts == "auto" and every_round)
        self._by_shares = ByShares(params, best, params.shares_average if every_round else 0.0)

    def ask_arguments(self, name: str, sums: Sums) -> dict[str, Any]:
        return {"metric": "kl", "target": None}

    def sums_in(self, round: int, last_round: int) -> bool:
        """Only where weights are learned: the sums are of the model that went out, and cost a pass over the clients' data."""
        return self.decides(round) or self.customises(round, last_round)

    def sum_arguments(self, name: str, round: int, seed: int) -> dict[str, Any]:
        return {"samples": self.params.shares_samples, "seed": derive(seed, "ssa-sums", round)}

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        """The weights of the model that goes out to the clients."""
        if self.params.mode == "every_round":
            return self.customised(cohort, state, server)
        return cohort.share, state, {}

    def decides(self, round: int) -> bool:
        """Only the paper's mode sends the learned model out; otherwise the base's own weights do."""
        return bool(self.params.mode == "every_round" and round > self.params.warmup_rounds)

    def customises(self, round: int, last_round: int) -> bool:
        """Whether the server forms its own model after this round, beside the one that goes out."""
        if self.params.mode == "post_hoc":
            return round == last_round
        return bool(self.params.mode == "customise" and round > self.params.warmup_rounds)

    def keeps_models(self, round: int, last_round: int) -> bool:
        return bool(self.params.mode == "sample_wise" and round == last_round)

    def predict(self, models: Sequence[Any], x: Tensor, augment: Augment, seed: int) -> tuple[Tensor, Tensor]:
        how = {name: getattr(self.params, name) for name in (each.name for each in fields(Descent))}
        learned, _, weights = predict_samples(models, x, augment, seed=seed, **how)
        return learned, weights

    def customised(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        """The learned weights of the target's own model; the size weights during the warm-up."""
        if self.params.mode != "post_hoc" and cohort.round <= self.params.warmup_rounds:
            return cohort.share, state, {}
        if len(cohort.ids) == 1:
            return np.ones(1), state, {"ssa/weights": [1.0]}
        if self.params.criterion == "shares":
            return self._learn_by_shares(cohort, state, server)
        evidence = gather(client_views("FedSSA", cohort, server, self.params.max_samples), self.params)
        if evidence is None:
            log.warning("FedSSA finds no client with finite outputs in round %d: weighting by size.", cohort.round)
            return cohort.share, state, {}
        return self.weigh(evidence, cohort, state, server)

    def weigh(self, evidence: Evidence, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        """The weights that these logits of the cohort's models lead to, averaged over rounds where that is on."""
        learned, state, metrics = self._learn(evidence, cohort, state, server)
        weights, state = self._averaged(learned, cohort, state)
        return weights, state, {**metrics, **evidence.metrics(), "ssa/weights": weights.tolist()}

    def _learn(self, evidence: Evidence, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        options = self.params
        started = time.perf_counter()
        asked = evidence.seconds
        samples, seed = evidence.samples, derive(server.seed, "ssa-learn", cohort.round)
        descent = Descent(
            options.lambda_var,
            options.lambda_we,
            options.lr,
            options.momentum,
            options.nesterov,
            options.weight_decay,
            options.var_unbiased,
        )
        learner = WeightLearner(descent, self._start(cohort, state, evidence.usable))
        for epoch in range(epochs_needed(options.epochs, samples, options.batch, options.steps_min)):
            learner.epoch(evidence.bank(epoch), sample_order(seed, epoch, samples), options.batch)
        seconds = time.perf_counter() - started - (evidence.seconds - asked)
        parts = loss_parts(evidence.banks, learner.weights, options.var_unbiased)
        weights = evidence.over_cohort(learner.weights)
        if options.warm_start:
            last = recall(state, LAST, cohort, 0.0)
            last[cohort.population.rows(cohort.ids)] = weights
            state = {**state, LAST: last}
        return weights, state, {**{f"ssa/{name}": value for name, value in parts.items()}, "ssa/seconds_learn": seconds}

    def _learn_by_shares(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        everybody, rows = np.ones(len(cohort.ids), dtype=bool), cohort.population.rows(cohort.ids)
        last = recall(state, LAST, cohort, 0.0)
        best = self._by_shares.best
        init = cohort.share if best else np.exp(log_softmax(self._start(cohort, state, everybody)))
        learned, state, metrics = self._by_shares.weigh(cohort, state, server, init, last[rows])
        if learned is None:
            return cohort.share, state, metrics
        if best:
            last[rows] = learned
            state = {**state, LAST: last}
        weights, state = self._averaged(learned, cohort, state)
        return weights, state, {**metrics, "ssa/weights": weights.tolist()}

    def _start(self, cohort: Cohort, state: State, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
        """v at the first step, of the usable clients."""
        clients = int(usable.sum())
        if self.params.warm_start and LAST in state:
            if len(cohort.ids) == cohort.population.count:
                last = recall(state, LAST, cohort, 0.0)[cohort.population.rows(cohort.ids)][usable]
                if last.sum() > 0:
                    return starting_logits(last, clients)
            else:
                log.warning(
                    "ssa.warm_start needs a reply of every client, but %d of %d replied: starting from %s.",
                    len(cohort.ids),
                    cohort.population.count,
                    self.params.init,
                )
        if self.params.init == "size":
            return starting_logits(cohort.share[usable], clients)
        if self.params.init == "disco":
            prior = disco_weights(cohort.sizes, answered_discrepancies(cohort, cohort.ids))[usable]
            return starting_logits(prior if prior.sum() > 0 else None, clients)
        return starting_logits(None, clients)

    def _averaged(self, weights: Weights, cohort: Cohort, state: State) -> tuple[Weights, State]:
        """The running average of m w_k (1 for an equal share, so that cohorts of any size compare), on this cohort.

        Sum and evidence decay together, so a client's first rounds count no more than their share.
        """
        decay = self.params.average
        if decay == 0:
            return weights, state
        rows = cohort.population.rows(cohort.ids)
        total, mass = recall(state, WEIGHT_SUM, cohort, 0.0), recall(state, EVIDENCE, cohort, 0.0)
        total[rows] = decay * total[rows] + (1 - decay) * weights * len(rows)
        mass[rows] = decay * mass[rows] + (1 - decay)
        mean = total[rows] / mass[rows]
        return mean / mean.sum(), {**state, WEIGHT_SUM: total, EVIDENCE: mass}
