"""One model for all, the client's half: FedAvg and everything that averages whole models."""

from __future__ import annotations

from clients.topologies.base import ClientTopology
from fl_config.parts import part


@part(
    "shared",
    slot="topology",
    what="one model for all clients",
    equation=r"\omega^{+} = \omega + \sum_{i \in S} p_i \, (\theta_i - \omega)",
    plugin=False,
)
class Shared(ClientTopology):
    """Nothing is private, everything is trained."""
