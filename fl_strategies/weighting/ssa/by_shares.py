"""FedSSA by class shares in one round: the clients' sums, the target's shares from them, and the weights that predict these.

Why beside the paper's criterion: that one sees confidence and consistency alone, and a client whose classes are easy is sure of
everything. It assumes label shift: where no mixture of the clients' classes looks like the target, the shares mean nothing, the round is
weighted by size and the user is told.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_config.seeds import derive
from fl_data import Samples
from fl_protocol.fixed_point import from_fixed
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Metrics, Weights
from fl_strategies.weighting.ssa.learning import starting_logits
from fl_strategies.weighting.ssa.loss import log_softmax
from fl_strategies.weighting.ssa.mixing import (
    Mixture,
    best_start,
    entropy_term,
    learn_weights_by_shares,
    log_shares_of,
)
from fl_strategies.weighting.ssa.parameters import SsaParams
from fl_strategies.weighting.ssa.shares import Fit, fit_shares
from fl_strategies.weighting.ssa.views import FORWARD_BATCH, client_views, over_cohort, usable_clients

SUMS = "class_features"  # what clients sum (clients/answers/class_features.py)
SHARES, MASS = "shares", "shares_mass"  # the running average, and how much evidence is in it
LARGE = 1.0  # an excess of one standard deviation of the target's own features, told also where it is not acted upon

log = logging.getLogger("fedloom")


@dataclass
class ByShares:
    """`best`: start from the best of several; `average`: the decay of the shares' running average, 0 where they are not averaged."""

    options: SsaParams
    best: bool
    average: float
    told: bool = False

    def weigh(
        self, cohort: Cohort, state: State, server: ServerResources, init: Weights, last: Weights
    ) -> tuple[Weights | None, State, Metrics]:
        """w over the cohort, None where the round must be weighted by size. `init` and `last` are weights to start from."""
        if SUMS not in cohort.sums:
            log.warning("FedSSA has no sums of the clients' features in round %d: weighting by size.", cohort.round)
            return None, state, {}
        options, started = self.options, time.perf_counter()
        asked = client_views("FedSSA", cohort, server, options.shares_target)
        logits = asked.plain()
        usable = usable_clients(logits, "FedSSA", cohort)
        if not usable.any():
            log.warning("FedSSA finds no client with finite outputs in round %d: weighting by size.", cohort.round)
            return None, state, {}
        wide = client_views("FedSSA", cohort, server, options.shares_fit)
        fit = self.fit(cohort, server, wide.target, wide.index, logits.shape[-1])
        fitted: Metrics = {"ssa/shares_residual": fit.residual, "ssa/shares_noise": fit.noise}
        if not self._trusted(fit, cohort.round):
            return None, state, {"ssa/shares": fit.shares.tolist(), **fitted, "ssa/weights": cohort.share.tolist()}
        shares, state = self._averaged(fit.shares, state)
        seconds = time.perf_counter() - started
        updates = [update for update, sane in zip(cohort.updates, usable, strict=True) if sane]
        x, _ = asked.target.batch(asked.index)
        mixture = Mixture(server.model(cohort.sent), cohort.sent, np.stack(updates), x.to(server.device))
        learned = self._learn(mixture, cohort, shares, init[usable], last[usable], server.seed)
        log_shares = log_shares_of(shares, server.device)
        metrics: Metrics = {
            "ssa/shares": shares.tolist(),
            **fitted,
            "ssa/loss_shares": mixture.loss(learned, log_shares),
            "ssa/loss_we": entropy_term(learned),
            "ssa/seconds_forward": seconds,
            "ssa/seconds_learn": time.perf_counter() - started - seconds,
        }
        return over_cohort(learned, usable), state, metrics

    def fit(self, cohort: Cohort, server: ServerResources, target: Samples, index: torch.Tensor, classes: int) -> Fit:
        """The target's shares by the clients' sums and the features of the model that went out."""
        flat = server.model(cohort.sent)
        with torch.no_grad():
            parts = [target.batch(part)[0].to(server.device) for part in torch.split(index, FORWARD_BATCH)]
            phi = torch.cat([flat.model.outputs(x).z.flatten(1) for x in parts]).double().cpu().numpy()
        total = cohort.sums[SUMS]
        if len(total) != classes * (1 + phi.shape[1]):
            raise ConfigError(
                f"The clients sum {len(total)} numbers, but {classes} classes with {phi.shape[1]} features and a count each "
                f"make {classes * (1 + phi.shape[1])}: clients and server must build the same model."
            )
        counts = total[:classes].astype(np.float64)
        sums = from_fixed(total[classes:]).reshape(classes, -1)
        return fit_shares(sums / np.maximum(counts, 1.0)[:, None], counts, phi, self.options.shares_prior)

    def _trusted(self, fit: Fit, round: int) -> bool:
        """Whether the shares may decide; the first time that the target looks strange, the log says so and what follows."""
        trust = self.options.shares_trust
        strange = fit.excess > (trust or LARGE)
        if strange and not self.told:
            self.told = True
            log.warning(
                "FedSSA: no mixture of the clients' classes looks like the target (round %d: its mean features are %.1f standard "
                "deviations away, ssa/shares_residual): another domain, or a class that no client of the round has? %s",
                round,
                fit.residual,
                f"Rounds in which it is more than {trust:g} away are weighted by size (ssa.shares_trust)."
                if trust
                else "The weights may be wrong.",
            )
        return not (strange and trust)

    def _learn(
        self, mixture: Mixture, cohort: Cohort, shares: Weights, init: Weights, last: Weights, seed: int
    ) -> Weights:
        options = self.options
        if self.best:
            known = [last] if last.sum() > 0 else []
            starts = [_softened(start) for start in (init, *known, *np.eye(len(init)))]
            init = best_start(mixture, starts, shares, options.lambda_we)
        return learn_weights_by_shares(
            mixture,
            shares,
            lambda_we=options.lambda_we,
            lr=options.shares_lr,
            momentum=options.momentum,
            nesterov=options.nesterov,
            weight_decay=options.weight_decay,
            steps=options.shares_steps,
            batch_size=options.shares_batch,
            seed=derive(seed, "ssa-learn", cohort.round),
            init=init,
        )

    def _averaged(self, shares: Weights, state: State) -> tuple[Weights, State]:
        """Sum and evidence decay together, so that the first rounds count no more than their share."""
        if self.average == 0:
            return shares, state
        total, mass = state.get(SHARES), state.get(MASS)
        if total is None or mass is None or total.shape != shares.shape:
            total, mass = np.zeros(len(shares)), np.zeros(1)
        total = self.average * total + (1 - self.average) * shares
        mass = self.average * mass + (1 - self.average)
        return total / mass, {**state, SHARES: total, MASS: mass}


def _softened(start: NDArray[np.float64]) -> Weights:
    """As learning would begin from it: a weight of 0 could never grow."""
    return np.asarray(np.exp(log_softmax(starting_logits(start, len(start)))))
