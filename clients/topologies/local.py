"""Local training, the client's half: nothing is shared, the client goes on from its own model."""

from __future__ import annotations

from collections.abc import Iterable

from clients.topologies.base import ClientTopology
from fl_config.parts import part


@part(
    "local",
    slot="topology",
    what="clients train alone and share nothing",
    equation=r"\theta_i^{+} = \theta_i - \eta \, \nabla \ell_i(\theta_i) \quad \text{for every client } i, \text{ and nothing is averaged}",
    plugin=False,
)
class Local(ClientTopology):
    def private(self, names: Iterable[str], head: Iterable[str]) -> set[str]:
        return set(names)
