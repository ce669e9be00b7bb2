"""Stopping early: a run that no longer gets better (`--patience`), or is good enough (`--stop-at`), ends by itself."""

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


class Level(Observer):
    """Stops a run at the first round whose headline metric is at the level or better (`--stop-at`)."""

    def __init__(self, plan: Plan) -> None:
        self.metrics, self.level = plan.metrics, plan.config.stop_at

    def recorded(self, record: Record) -> bool:
        value = headline_of(record, self.metrics.headline_key)
        reached = value is not None and (value == self.level or self.metrics.improves(value, self.level))
        if reached:
            log.info(
                "round %d: %s %.4f, as --stop-at %g asks", record["round"], self.metrics.headline, value, self.level
            )
        return reached


def early_stops(plan: Plan, records: Sequence[Record]) -> list[Observer]:
    """Those that the options ask for; `records` are what a resumed run has already."""
    stops: list[Observer] = [Patience(plan, records)] if plan.config.patience else []
    return [*stops, Level(plan)] if plan.config.stop_at else stops
