"""FedCUAU on the server: clusters by CUAU in one shot, then a shared trunk and a head for each cluster.

FedCUAU, algorithm 1 ("FedCUAU: Clustered Federated Learning Using Weight Divergence"). Before round 1 every client trains the seeded initial model, which
it builds itself, and returns its last layer's update: that places it (`clustering.cuau`). Then w^s is the trunk, w^{C1..CC} the heads:
    client k in cluster i   A: trains {w^s, w^{CC}};   B: for j = i..C-1, w^{Cj} on the updated and now frozen w^s
    w^s, w^{CC}             averaged over all replies, so that they follow the base method's trajectory exactly
    w^{Cj}                  averaged over the replies of clusters up to j, with their weights renormalised; nobody: unchanged
The global model is cluster 1's, {w^s, w^{C1}}; a client's own is {w^s, w^{Cb_k}}. Deviations: the printed line 14 (a factor 1/K, all
heads over all clients) is read as above, `dilute_heads` gives its second half. A client that was away is measured when it first
appears, against the borders of stage 1, and counts to the last cluster until then. Heads start as copies of the initial model's.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_config.parts import half
from fl_protocol.arrays import Packed, replaced, to_record
from fl_protocol.layout import Layout
from fl_protocol.messages import Named
from fl_protocol.replies import BadReply, ClientReply, Probed
from fl_protocol.types import Arrays, ClientId, State, client_order
from fl_strategies.clustering.cuau import CuauParams
from fl_strategies.clustering.heads import average_head, head_arrays
from fl_strategies.clustering.placement import Placement, Probe
from fl_strategies.round.records import Record
from fl_strategies.topologies.base import Acked, Ask, Members, Pack, Topology

log = logging.getLogger("fedloom")


@half("cuau")
class Cuau(Topology):
    """Around the topology `inner` of the base method, whose model is the trunk and the last cluster's head."""

    Params = CuauParams
    name = "cuau"
    personal = True
    several_models = True
    fine_tuning_epochs = 5

    def __init__(self, params: CuauParams | None = None, inner: Topology | None = None) -> None:
        super().__init__(params or CuauParams(), inner)
        self.inner = inner or Topology()
        self.last: int = self.params.clusters  # C, whose head is part of the model that the base method trains
        self.asked: set[int] = set()  # nodes; one that could not be measured is not asked again
        self._read: tuple[object, Placement] = (None, Placement())  # the placement, and the state that it was read from

    def check(self, clients: int) -> None:
        if clients < self.last:
            raise ConfigError(
                f"cuau.clusters is {self.last}, but there are only {clients} clients: lower it, or add clients."
            )

    def private_names(self, names: Iterable[str], head: Iterable[str]) -> set[str]:
        return self.inner.private_names(names, head)

    def open(self, named: Arrays, members: Members) -> Layout:
        layout = super().open(named, members)
        self.check(members.population.count)
        names = head_arrays(named, self.params.trunk_end, members.trunk_end, layout.private)
        self.head = Layout.of({n: named[n] for n in names}, [n for n in layout.parameters if n in names])
        self.fc = Layout.of({n: named[n] for n in members.head_names}, members.head_names)
        return layout

    def init(self, model: Arrays) -> State:
        state = Placement().write()
        for cluster in range(1, self.last):
            state |= self._packed(cluster, model)
        return state

    def placement(self, state: State) -> Placement:
        """Who belongs where; read once per change."""
        if self._read[0] is not state["clusters"]:
            self._read = state["clusters"], Placement.read(state)
        return self._read[1]

    def cluster(self, state: State, client: ClientId) -> int:
        return self.placement(state).clusters.get(client, self.last)

    # Stage 1

    def prepare(self, state: State, members: Members, ask: Ask) -> tuple[State, Record]:
        placement = self.placement(state)
        fresh = [c for c in members.online if c not in placement.clusters and members.node(c) not in self.asked]
        if not fresh:
            return state, {}
        self.asked |= {members.node(client) for client in fresh}
        probes, unmeasured, up = [], dict.fromkeys(fresh, "no reply in time"), 0
        for client, answer in ask(sorted(fresh, key=client_order), self.fc):
            if isinstance(answer, BadReply):
                unmeasured[client] = str(answer)
                continue
            probes.append(self._probe(client, answer))
            up += answer.bytes
            del unmeasured[client]
        probes.sort(key=lambda probe: client_order(probe.client))
        good, other = placement.comparable(probes)
        unmeasured |= {probe.client: "it built another initial model than the other clients" for probe in other}
        for client, reason in unmeasured.items():
            log.warning("client %s is not measured and counts to cluster %d: %s", client, self.last, reason)
        placement = placement.copy()
        placement.add(good, self.params)
        ids = [probe.client for probe in good]
        return {**state, **placement.write()}, {
            "cuau/client_ids": ids,
            "cuau/scores": [placement.scores[client] for client in ids],
            "cuau/clusters": [placement.clusters[client] for client in ids],
            "cuau/unmeasured": [{"id": client, "reason": reason} for client, reason in unmeasured.items()],
            **{"bytes_up": up, "cuau/stage1_bytes_up": up},
            **{"bytes_down": 0, "cuau/stage1_bytes_down": 0},  # architecture and seed are in the run's configuration
        }

    def _probe(self, client: ClientId, answer: Probed) -> Probe:
        update, numbers = self.fc.pack(answer.update).astype(np.float64), answer.metrics
        steps, checksum = int(numbers["steps"]), int(numbers["initial-checksum"])
        return Probe(client, update, int(numbers["num-examples"]), steps, checksum)

    # Stage 2

    def says(self, state: State, client: ClientId) -> Named:
        return self.name, {
            "cluster": self.cluster(state, client),
            "head": list(self.head.shapes),
            "inner": self.inner.name,
        }

    def training(self, state: State, arrays: Packed, acked: Acked) -> Pack:
        records = {j: to_record(self._head(state, j)) for j in range(1, self.last)}

        def pack(client: ClientId) -> tuple[Packed, dict[str, Packed]]:
            own = self.cluster(state, client)
            return self.shared(client, arrays, acked), {str(j): head for j, head in records.items() if j >= own}

        return pack

    def evaluation(self, state: State, arrays: Packed, acked: Acked) -> Pack:
        models = {self.last: arrays}
        for j in range(1, self.last):
            models[j] = replaced(arrays, to_record(self._head(state, j)))
        return lambda client: (self.shared(client, models[self.cluster(state, client)], acked), {})

    def groups(self, state: State, client: ClientId) -> dict[str, Layout]:
        return {str(j): self.head for j in range(self.cluster(state, client), self.last)}

    def aggregate(self, state: State, replies: list[ClientReply], weights: NDArray[np.float64]) -> tuple[State, Record]:
        new = dict(state)
        for j in range(1, self.last):
            heads = [reply.groups.get(str(j)) for reply in replies]
            averaged = average_head(self.head, self._head(state, j), heads, weights, self.params.dilute_heads)
            new |= self._packed(j, averaged)
        sizes = Counter(self.cluster(state, reply.client) for reply in replies)
        return new, {"cuau/cluster_sizes": [sizes[j] for j in range(1, self.last + 1)]}

    # Models and numbers

    def served(self, state: State, model: Arrays) -> Arrays:
        return self._model(state, model, 1)

    def evaluated(self, state: State, models: Mapping[str, Arrays]) -> dict[str, Arrays]:
        if not self.inner.has_global:
            return {}
        shown = super().evaluated(state, models)
        if "global" in models:
            shown |= {f"cuau/{j}": self._model(state, models["global"], j) for j in range(2, self.last + 1)}
        return shown

    def remarks(self, state: State, record: Record) -> Record:
        more: Record = {}
        if "global/accuracy" in record:
            others = [record.get(f"cuau/{j}/accuracy") for j in range(2, self.last + 1)]
            more["cuau/cluster_accuracy"] = [record["global/accuracy"], *others]
        if "personal/client_ids" in record:
            own = np.array([self.cluster(state, client) for client in record["personal/client_ids"]])
            more["personal/client_cluster"] = own
            for name, key in (("cluster_accuracy", "client_accuracy"), ("cluster_before", "client_before")):
                if f"personal/{key}" not in record:
                    continue  # the run does not record accuracy
                values = np.asarray(record[f"personal/{key}"], dtype=float)
                members = [values[own == j] for j in range(1, self.last + 1)]
                more[f"personal/{name}"] = [each.mean() if each.size else None for each in members]
        return more

    def _model(self, state: State, model: Arrays, cluster: int) -> Arrays:
        return model if cluster == self.last else model | self._head(state, cluster)

    def _head(self, state: State, cluster: int) -> Arrays:
        buffers = {name: state[f"head-{cluster}/{name}"] for name in self.head.buffers}
        return self.head.unpack(state[f"head-{cluster}"], buffers)

    def _packed(self, cluster: int, arrays: Arrays) -> State:
        buffers = {f"head-{cluster}/{name}": np.array(arrays[name]) for name in self.head.buffers}
        return {f"head-{cluster}": self.head.pack(arrays), **buffers}
