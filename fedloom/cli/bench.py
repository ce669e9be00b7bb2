"""`fedloom bench`: the speed of the engines, as ratios."""

from __future__ import annotations

from fedloom.cli.flags import AddCommand
from simulation.bench import comparison


def register(command: AddCommand) -> None:
    help = "measure speed against the bare loop and Flower's own engine, as ratios in one run"
    comparison.add_arguments(command("bench", comparison.main, help))
