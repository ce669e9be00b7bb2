"""Stopping early: a run that no longer gets better ends by itself (`--patience`)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fl_runs.folder import headline_of
from fl_runs.plan import Plan
from fl_strategies.round.records import Observer, Record

log = logging.getLogger("fedloom")


class Patience(Observer):
    """Stops a run after so many evaluations without a better headline metric (`--patience`); a resumed run remembers."""

    def __init__(self, plan: Plan, records: Sequence[Record]) -> None:
        self.metrics, self.patience = plan.metrics, plan.config.patience
        self.best: float | None = None
        self.waited = 0
        for record in records:
            self.recorded(record)

    def recorded(self, record: Record) -> bool:
        value = headline_of(record, self.metrics.headline_key)
        if value is None:
            return False
        better = self.metrics.improves(value, self.best)
        self.best, self.waited = (value, 0) if better else (self.best, self.waited + 1)
        if self.waited >= self.patience:
            log.info(
                "round %d: %d evaluations without a better %s", record["round"], self.waited, self.metrics.headline
            )
        return self.waited >= self.patience
