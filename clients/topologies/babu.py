"""FedBABU (Oh et al., ICLR 2022), the client's half: the head stays at its common initial values while the body is trained."""

from __future__ import annotations

from clients.topologies.per import Per
from fl_config.parts import part


@part(
    "babu",
    slot="topology",
    what="a fixed head while training, fine-tuned afterwards",
    paper="fedbabu",
    year=2022,
)
class Babu(Per):
    def still(self, private: set[str], own: bool = True) -> set[str]:
        return set(private)
