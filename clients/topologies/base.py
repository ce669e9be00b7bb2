"""What a client does with the arrays that it gets: which it keeps to itself, which a pass trains, and what passes there are.

The server sends the whole model to a client until one of its replies counted, and only the shared arrays afterwards: the private ones
are then in the client's memory. A topology that gives a client more than one model (`cuau`) has further passes after the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_protocol.types import Arrays

PREFIX = "private:"  # of private arrays among what a client remembers
# Trains from these arrays, holding the named ones still, and returns the arrays afterwards; the text names the pass.
Pass = Callable[[Arrays, set[str], str], Arrays]


class ClientTopology:
    """This base is one model for all: everything is shared and everything is trained."""

    kind: ClassVar[str] = "client topology"
    Params: ClassVar[type[Params]] = Params
    needs: ClassVar[tuple[str, ...]] = ()  # of the task ("classes") or of the model ("head")

    def __init__(self, **arguments: Any) -> None:
        """The arguments are what the server's half says to this client."""

    def private(self, names: Iterable[str], head: Iterable[str]) -> set[str]:
        """Names of the arrays that the client keeps to itself, of all those of the model."""
        return set()

    def still(self, private: set[str], own: bool = True) -> set[str]:
        """Private arrays that a pass does not train. `own`: it is the pass in which the client trains what is its own."""
        return set() if own else set(private)

    def first_is_own(self, groups: Mapping[str, Arrays]) -> bool:
        """Whether the first pass is the client's own."""
        return True

    def further_passes(
        self, arrays: Arrays, groups: Mapping[str, Arrays], private: set[str], run: Pass
    ) -> dict[str, Arrays]:
        """Train what came beside the model, after the first pass; returns what goes back beside it.

        `arrays` is the model after the first pass; what the client keeps private and trains here is replaced in it.
        """
        return {}


def complete(received: Arrays, remembered: Mapping[str, NDArray[Any]], private: set[str]) -> Arrays:
    """The whole model: what came, and the private arrays from memory (which win over those that came)."""
    own = {name.removeprefix(PREFIX): value for name, value in remembered.items() if name.startswith(PREFIX)}
    missing = private - received.keys() - own.keys()
    if missing:
        raise ConfigError(
            f"The private array {sorted(missing)[0]!r} is neither in the message nor in this client's memory."
        )
    return {**received, **{name: own[name] for name in private if name in own}}


def remember(arrays: Arrays, private: set[str]) -> Arrays:
    return {PREFIX + name: arrays[name] for name in private}
