"""FedCUAU, the client's half: after the shared model, one pass for every head that this client's cluster feeds.

FedCUAU, algorithm 1, lines 10 to 13, for a client of cluster i among C:
    A   trains {w^s, w^{CC}} jointly, the model that it received
    B   for j = i..C-1 trains w^{Cj} alone, on the updated w^s, which stays still
Inside it stands the topology of the base method (shared, per, babu). A head that a client keeps private is trained in the pass of its own
cluster and stays still in the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clients.topologies.base import ClientTopology, Pass
from fl_config.parts import find, part
from fl_protocol.types import Arrays


@part(
    "cuau",
    slot="topology",
    what="clusters by skew, a shared trunk and a head for each cluster",
    equation=r"""
        \mathrm{AU} &= \sum_k \frac{n_k}{n} \, \mathrm{CU}_k, \qquad u_k = \lVert \mathrm{CU}_k - \mathrm{AU} \rVert_2, \qquad
            b_k = 1 + \left| \{ i < C : u_k > P_{i/C}(u) \} \right| \\
        w^{s}, w^{C_C} &= \sum_{k \in S} p_k \, (\cdot)_k, \qquad
            w^{C_j} = \frac{\sum_{k \in S,\, b_k \le j} p_k \, w^{C_j}_k}{\sum_{k \in S,\, b_k \le j} p_k} \quad (j < C)
    """,
    paper="fedcuau",
    year=2024,
)
class Cuau(ClientTopology):
    """`cluster` is the client's own, `head` names the arrays that every cluster has of its own, `inner` the topology inside."""

    needs = ("head",)

    def __init__(self, cluster: int = 0, head: Iterable[str] = (), inner: str = "shared", **more: Any) -> None:
        super().__init__(**more)
        self.cluster, self.head = cluster, list(head)
        self.inner: ClientTopology = find(ClientTopology.kind, inner)()

    def private(self, names: Iterable[str], head: Iterable[str]) -> set[str]:
        return self.inner.private(names, head)

    def still(self, private: set[str], own: bool = True) -> set[str]:
        return self.inner.still(private, own)

    def first_is_own(self, groups: Mapping[str, Arrays]) -> bool:
        return str(self.cluster) not in groups

    def further_passes(
        self, arrays: Arrays, groups: Mapping[str, Arrays], private: set[str], run: Pass
    ) -> dict[str, Arrays]:
        heads: dict[str, Arrays] = {}
        for cluster in sorted(groups, key=int):
            still = {name for name in arrays if name not in self.head and name not in private}
            still |= self.still(private, int(cluster) == self.cluster)
            after = run({**arrays, **groups[cluster]}, still, f" of head {cluster}")
            arrays |= {name: after[name] for name in private}
            heads[cluster] = {name: after[name] for name in self.head}
        return heads
