"""Who belongs to which cluster: clients are measured once, the first ones together, later ones against what those set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_protocol.types import ClientId, State
from fl_strategies.clustering.cuau import CuauParams, aggregated_update, assign_clusters, cluster_borders, place


@dataclass(frozen=True)
class Probe:
    """A client's measurement: its last layer's update CU_k as one vector, its examples and local steps."""

    client: ClientId
    update: NDArray[np.float64]
    size: int
    steps: int
    checksum: int  # of the model that it started from


@dataclass
class Placement:
    clusters: dict[ClientId, int] = field(default_factory=dict)
    scores: dict[ClientId, float] = field(default_factory=dict)
    founded: State = field(
        default_factory=dict
    )  # AU, the borders and the initial model's checksum, set by the first clients

    def comparable(self, probes: Sequence[Probe]) -> tuple[list[Probe], list[Probe]]:
        """Those that started from the model that most of the first clients started from, and the others."""
        if self.founded:
            common = int(self.founded["checksum"][0])
        else:
            common = Counter(probe.checksum for probe in probes).most_common(1)[0][0] if probes else 0
        return [p for p in probes if p.checksum == common], [p for p in probes if p.checksum != common]

    def add(self, probes: Sequence[Probe], params: CuauParams) -> None:
        """Place these clients; the first call sets AU and the borders."""
        if not self.founded and len(probes) < params.clusters:
            raise ConfigError(
                f"{params.clusters} clusters need as many clients, but only {len(probes)} could be measured; the log says why."
            )
        if not probes:
            return
        updates = np.stack([p.update / max(1, p.steps) if params.normalise_cu else p.update for p in probes])
        first = not self.founded
        if first:
            au = aggregated_update(updates, [probe.size for probe in probes], params.au_weighting)
            self.founded = {"au": au, "checksum": np.array([probes[0].checksum], dtype=np.int64)}
        scores = np.linalg.norm(updates - self.founded["au"], axis=1)
        if first:
            self.founded["borders"] = cluster_borders(scores, params.clusters, params.percentile)
            placed = assign_clusters(scores, params.clusters, params.percentile)
        else:
            placed = place(scores, self.founded["borders"])
        for probe, score, cluster in zip(probes, scores, placed, strict=True):
            self.scores[probe.client], self.clusters[probe.client] = float(score), int(cluster)

    def copy(self) -> Placement:
        return Placement(dict(self.clusters), dict(self.scores), dict(self.founded))

    def write(self) -> State:
        """As arrays, for a checkpoint."""
        clients = list(self.clusters)
        return {
            "clients": np.frombuffer(json.dumps(clients).encode(), dtype=np.uint8),
            "clusters": np.array([self.clusters[client] for client in clients], dtype=np.int64),
            "scores": np.array([self.scores[client] for client in clients], dtype=np.float64),
            **self.founded,
        }

    @classmethod
    def read(cls, state: State) -> Placement:
        clients = json.loads(state["clients"].tobytes())
        founded: State = {name: state[name] for name in ("au", "borders", "checksum") if name in state}
        return cls(
            dict(zip(clients, state["clusters"].tolist(), strict=True)),
            dict(zip(clients, state["scores"].tolist(), strict=True)),
            founded,
        )
