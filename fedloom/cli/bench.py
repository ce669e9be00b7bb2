"""`fedloom bench`: the speed of the engines, as ratios."""

from __future__ import annotations

from fedloom.cli.flags import AddCommand
from simulation.bench import comparison


def register(command: AddCommand) -> None:
    help = "measure speed against bare loops, Flower's own engine and pfl-research, as ratios in one run"
    comparison.add_arguments(command("bench", comparison.main, help))
