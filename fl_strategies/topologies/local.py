"""Local training, the server's half: nothing comes back, so there is no global model."""

from __future__ import annotations

from fl_config.parts import half
from fl_strategies.topologies.base import Topology


@half("local")
class Local(Topology):
    name = "local"
    personal = True
    private = True
    shares_nothing = True
    has_global = False
