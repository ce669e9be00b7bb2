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
from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message
from numpy.typing import NDArray

from clients.client import ARRAYS, HEAD
from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_protocol.arrays import to_record
from fl_protocol.layout import Layout
from fl_protocol.replies import BadReply, ClientReply, read_arrays, read_numbers
from fl_protocol.types import Arrays, ClientId, State, Vector, client_order
from fl_strategies.clustering.cuau import CuauParams
from fl_strategies.clustering.heads import average_head, head_arrays
from fl_strategies.clustering.placement import Placement, Probe
from fl_strategies.round.membership import Membership
from fl_strategies.round.records import Record
from fl_strategies.round.state import RunState
from fl_strategies.topologies.base import Ask, Pack, Topology

log = logging.getLogger("fedloom")
CUAU = "cuau"  # where its state is in a run's


class Clusters(Topology):
    def __init__(self, private: str | None, params: Params | None = None) -> None:
        super().__init__(private)
        self.params = params if isinstance(params, CuauParams) else CuauParams()
        self.last = self.params.clusters  # C, whose head is part of the model that the base method trains
        self.placement = Placement()
        self.asked: set[int] = set()  # nodes; one that could not be measured is not asked again

    def check(self, clients: int) -> None:
        if clients < self.last:
            raise ConfigError(
                f"cuau.clusters is {self.last}, but there are only {clients} clients: lower it, or add clients."
            )

    def open(self, named: Arrays, members: Membership) -> Layout:
        layout = super().open(named, members)
        self.check(members.population.count)
        names = head_arrays(named, self.params.trunk_end, members.trunk_end, layout.private)
        self.head = Layout.of({n: named[n] for n in names}, [n for n in layout.parameters if n in names])
        self.fc = Layout.of({n: named[n] for n in members.head_names}, members.head_names)
        return layout

    def adopt(self, state: RunState) -> None:
        if CUAU not in state.steps:
            model = self.layout.unpack(state.omega, state.buffers)
            state.steps[CUAU] = self.placement.write()
            for cluster in range(1, self.last):
                state.steps[CUAU] |= self._packed(cluster, model)
        self.placement = Placement.read(state.steps[CUAU])

    def cluster(self, client: ClientId) -> int:
        return self.placement.clusters.get(client, self.last)

    # Stage 1

    def prepare(self, state: RunState, members: Membership, ask: Ask) -> Record:
        fresh = [c for c in members.online if c not in self.placement.clusters and members.node(c) not in self.asked]
        if not fresh:
            return {}
        self.asked |= {members.node(client) for client in fresh}
        probes, unmeasured, up = [], dict.fromkeys(fresh, "no reply in time"), 0
        for client, message in ask(sorted(fresh, key=client_order), {"probe": True}):
            try:
                probe, size = self._read_probe(client, message)
            except BadReply as problem:
                unmeasured[client] = str(problem)
                continue
            probes.append(probe)
            up += size
            del unmeasured[client]
        probes.sort(key=lambda probe: client_order(probe.client))
        good, other = self.placement.comparable(probes)
        unmeasured |= {probe.client: "it built another initial model than the other clients" for probe in other}
        for client, reason in unmeasured.items():
            log.warning("client %s is not measured and counts to cluster %d: %s", client, self.last, reason)
        self.placement.add(good, self.params)
        state.steps[CUAU] |= self.placement.write()
        ids = [probe.client for probe in good]
        return {
            "cuau/client_ids": ids,
            "cuau/scores": [self.placement.scores[client] for client in ids],
            "cuau/clusters": [self.placement.clusters[client] for client in ids],
            "cuau/unmeasured": [{"id": client, "reason": reason} for client, reason in unmeasured.items()],
            **{"bytes_up": up, "cuau/stage1_bytes_up": up},
            **{"bytes_down": 0, "cuau/stage1_bytes_down": 0},  # architecture and seed are in the run's configuration
        }

    def _read_probe(self, client: ClientId, message: Message) -> tuple[Probe, int]:
        arrays, size = read_arrays(message, ARRAYS, self.fc)
        numbers = read_numbers(message)
        if not {"steps", "initial-checksum"} <= numbers.keys():
            raise BadReply("its measurement lacks the number of steps or the initial model's checksum")
        update = self.fc.pack(arrays).astype(np.float64)
        steps, checksum = int(numbers["steps"]), int(numbers["initial-checksum"])
        return Probe(client, update, int(numbers["num-examples"]), steps, checksum), size

    # Stage 2

    def method(self, state: RunState, client: ClientId) -> dict[str, Any]:
        return super().method(state, client) | {"cluster": self.cluster(client), "head": list(self.head.shapes)}

    def training(self, state: RunState, arrays: ArrayRecord) -> Pack:
        records = {j: to_record(self._head(state, j)) for j in range(1, self.last)}

        def pack(client: ClientId) -> dict[str, ArrayRecord]:
            heads = {f"{HEAD}{j}": record for j, record in records.items() if j >= self.cluster(client)}
            return {ARRAYS: self._shared(state, client, arrays), **heads}

        return pack

    def evaluation(self, state: RunState, arrays: ArrayRecord) -> Pack:
        models = {self.last: arrays}
        for j in range(1, self.last):
            head = to_record(self._head(state, j))
            models[j] = ArrayRecord({name: head.get(name, array) for name, array in arrays.items()})
        return lambda client: {ARRAYS: self._shared(state, client, models[self.cluster(client)])}

    def groups(self, state: RunState, client: ClientId) -> dict[str, Layout]:
        return {f"{HEAD}{j}": self.head for j in range(self.cluster(client), self.last)}

    def aggregate(self, state: RunState, replies: list[ClientReply], weights: NDArray[np.float64]) -> Record:
        for j in range(1, self.last):
            heads = [reply.groups.get(f"{HEAD}{j}") for reply in replies]
            averaged = average_head(self.head, self._head(state, j), heads, weights, self.params.dilute_heads)
            state.steps[CUAU] |= self._packed(j, averaged)
        sizes = Counter(self.cluster(reply.client) for reply in replies)
        return {"cuau/cluster_sizes": [sizes[j] for j in range(1, self.last + 1)]}

    # Models and numbers

    def served(self, state: RunState, vector: Vector) -> Arrays:
        return self._model(state, vector, 1)

    def evaluated(self, state: RunState, vectors: Mapping[str, Vector]) -> dict[str, Arrays]:
        models = super().evaluated(state, vectors)
        if "global" in models:
            models |= {f"cuau/{j}": self._model(state, vectors["global"], j) for j in range(2, self.last + 1)}
        return models

    def remarks(self, state: RunState, record: Record) -> Record:
        more: Record = {}
        if "global/accuracy" in record:
            others = [record.get(f"cuau/{j}/accuracy") for j in range(2, self.last + 1)]
            more["cuau/cluster_accuracy"] = [record["global/accuracy"], *others]
        if "personal/client_ids" in record:
            own = np.array([self.cluster(client) for client in record["personal/client_ids"]])
            more["personal/client_cluster"] = own
            for name, key in (("cluster_accuracy", "client_accuracy"), ("cluster_before", "client_before")):
                values = np.asarray(record[f"personal/{key}"], dtype=float)
                members = [values[own == j] for j in range(1, self.last + 1)]
                more[f"personal/{name}"] = [each.mean() if each.size else None for each in members]
        return more

    def _model(self, state: RunState, vector: Vector, cluster: int) -> Arrays:
        model = self.layout.unpack(vector, state.buffers)
        return model if cluster == self.last else model | self._head(state, cluster)

    def _head(self, state: RunState, cluster: int) -> Arrays:
        own = state.steps[CUAU]
        buffers = {name: own[f"{HEAD}{cluster}/{name}"] for name in self.head.buffers}
        return self.head.unpack(own[f"{HEAD}{cluster}"], buffers)

    def _packed(self, cluster: int, arrays: Arrays) -> State:
        buffers = {f"{HEAD}{cluster}/{name}": np.array(arrays[name]) for name in self.head.buffers}
        return {f"{HEAD}{cluster}": self.head.pack(arrays), **buffers}
