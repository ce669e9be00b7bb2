"""One model for all, the server's half."""

from __future__ import annotations

from fl_config.parts import half
from fl_strategies.topologies.base import Topology


@half("shared")
class Shared(Topology):
    """Every client gets the whole model and gives it back."""

    summable = True
