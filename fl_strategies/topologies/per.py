"""FedPer (Arivazhagan et al., 2019), the server's half: the body is averaged, and has no head of its own to be evaluated with."""

from __future__ import annotations

from fl_config.parts import half
from fl_strategies.topologies.base import Topology


@half("per")
class Per(Topology):
    name = "per"
    personal = True
    private = True
    has_global = False
