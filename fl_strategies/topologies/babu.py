"""FedBABU (Oh et al., ICLR 2022), the server's half: the body is averaged, the head is the initial one for all."""

from __future__ import annotations

from fl_config.parts import half
from fl_strategies.topologies.base import Topology


@half("babu")
class Babu(Topology):
    name = "babu"
    personal = True
    private = True
    fine_tuning_epochs = 5
