"""FedPer (Arivazhagan et al., 2019), the client's half: a private head, trained by the client and never sent; a shared body."""

from __future__ import annotations

from collections.abc import Iterable

from clients.topologies.base import ClientTopology
from fl_config.parts import part


@part(
    "per",
    slot="topology",
    what="private heads, a shared body",
    equation=r"""
        \theta_i = (\varphi, \psi_i) \quad \text{with a shared body } \varphi \text{ and a private head } \psi_i \\
        \varphi^{+} = \sum_{i \in S} p_i \, \varphi_i, \qquad \psi_i \text{ stays with client } i
    """,
    paper="fedper",
    year=2019,
)
class Per(ClientTopology):
    needs = ("head",)

    def private(self, names: Iterable[str], head: Iterable[str]) -> set[str]:
        return set(head)
