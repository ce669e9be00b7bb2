"""FedBABU (Oh et al., ICLR 2022), the client's half: the head stays at its common initial values while the body is trained."""

from __future__ import annotations

from clients.topologies.per import Per
from fl_config.parts import part


@part(
    "babu",
    slot="topology",
    what="a fixed head while training, fine-tuned afterwards",
    equation=r"""
        \theta = (\varphi, \psi^0) \quad \text{with the head } \psi^0 \text{ fixed at its initial values} \\
        \varphi^{+} = \sum_{i \in S} p_i \, \varphi_i, \qquad \text{then every client fine-tunes } (\varphi, \psi^0) \text{ for itself}
    """,
    paper="fedbabu",
    year=2022,
)
class Babu(Per):
    def still(self, private: set[str], own: bool = True) -> set[str]:
        return set(private)
