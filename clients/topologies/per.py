"""FedPer (Arivazhagan et al., 2019), the client's half: a private head, trained by the client and never sent; a shared body."""

from __future__ import annotations

from collections.abc import Iterable

from clients.topologies.base import ClientTopology
from fl_config.parts import part


@part("per", slot="topology", what="private heads, a shared body", paper="fedper", year=2019)
class Per(ClientTopology):
    needs = ("head",)

    def private(self, names: Iterable[str], head: Iterable[str]) -> set[str]:
        return set(head)
