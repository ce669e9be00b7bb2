"""Running federations on one machine or one Ray cluster: engines, the runner, the report and the bench."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fl_runs.result import Run
    from simulation.runner import run

__all__ = ["Run", "run"]


def __getattr__(name: str) -> Any:
    """Import on first use: reading a report must not load torch."""
    if name in __all__:
        from simulation import runner

        return getattr(runner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
