"""The server's half: recipes, the one strategy class, weightings, server updates, and every base as a class of its own.

`from fl_strategies import FedDisco` gives a Flower `Strategy` for anyone's ServerApp.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Import on first use: the mathematics below this package must not pull in Flower."""
    if name == "ComposedStrategy":
        from fl_strategies.strategy import ComposedStrategy

        return ComposedStrategy
    if name[:1].isupper():
        from fl_strategies.named import NAMED

        if name in NAMED:
            return NAMED[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
