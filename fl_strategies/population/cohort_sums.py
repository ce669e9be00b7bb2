"""Secure sums during the rounds: what a weighting must know of the round's clients together, computed with the model that went out.

The clients are asked after they have trained, so that the sum is over those whose replies are used; who vanishes in between is left
out of it. The server learns the totals only. What is summed of two cohorts that differ by one client tells that client's part by
subtraction: this holds for every sum of this kind, and docs/fedssa.md says so.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from flwr.serverapp import Grid

from fl_config.errors import ConfigError
from fl_protocol.arrays import record_bytes, to_record
from fl_protocol.messages import FEWEST
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.global_model import GlobalModel
from fl_strategies.round.membership import Totals
from fl_strategies.round.orders import Orders
from fl_strategies.round.records import Journal
from fl_strategies.round.secure.secure_sum import NoSum, secure_sum
from fl_strategies.sampling import cohort_size

log = logging.getLogger("fedloom")


@dataclass
class CohortSums:
    orders: Orders
    journal: Journal
    stop: threading.Event
    grid: Grid | None = None

    def open(self, grid: Grid) -> None:
        """Remember where the clients are; refuse rounds that are too small for what the weighting needs."""
        self.grid = grid
        weave, who, online = self.orders.weave, self.orders.participation, len(self.orders.members.online)
        if not weave.weighting.round_sums:
            return
        size = online if who.sampler == "bernoulli" else cohort_size(online, who.fraction_train)
        if size < FEWEST:
            raise ConfigError(
                f"{weave.recipe.weighting!r} needs a secure sum over {FEWEST} or more clients in every round, but {size} of "
                f"{online} would take part: raise --clients or --fraction, or choose parameters of "
                f"{weave.recipe.weighting!r} that need no sum."
            )

    def over(self, cohort: Cohort, model: GlobalModel) -> Totals:
        """The sums that this round's weights need, by name; none where too few clients took part in one."""
        wanted = self.orders.weave.round_sums(cohort.round, self.orders.rounds)
        if not wanted:
            return {}
        assert self.grid is not None, "the first round opens it"
        arrays, totals = to_record(model.model()), {}
        members, part = self.orders.members, self.orders.weave.recipe.weighting
        nodes, patience = [members.node(client) for client in cohort.ids], self.orders.participation.round_timeout
        for name, arguments in wanted.items():
            self.journal.count("bytes_down", len(nodes) * record_bytes(arrays))
            try:
                totals[name] = secure_sum(
                    self.grid, nodes, name, part, self.orders.setup, patience, self.stop, arguments, arrays
                )
            except NoSum as problem:
                log.warning("round %d: %s", cohort.round, problem)
                return {}
            self.journal.count("bytes_up", len(nodes) * totals[name].nbytes)
        return totals
