"""CUAU: how far a client's update lies from everybody's, as a measure of how skewed its labels are, and clusters by it.

"FedCUAU: Clustered Federated Learning Using Weight Divergence", algorithm 1, lines 2 to 9:
    AU      = sum_k (n_k / n) CU_k                CU_k = fc_k - fc_0, the last layer's update from one common initial model
    CUAU_k  = |CU_k - AU|_2
    b_k     = 1 + #{i < C : CUAU_k > P_{i/C}}     P the quantiles of all CUAU; cluster 1 is the least skewed
Deviations: line 6 as printed divides by N as well as by n; the text's weighted mean is what is meant. The proof takes the
plain mean (`au_weighting = "uniform"`). Larger clients take more steps and so go farther: `normalise_cu` divides CU_k by
them (off, as in the paper). `percentile = "rank"` splits by rank, for clusters of equal size in spite of ties.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from fl_config.errors import ConfigError
from fl_config.params import Params

AuWeighting = Literal["size", "uniform"]
Percentile = Literal["linear", "rank"]


class CuauParams(Params):
    clusters: int = Field(2, ge=2, description="number of clusters C, from the least to the most skewed")
    au_weighting: AuWeighting = Field("size", description="mean of the clients' updates by their sizes, or uniform")
    normalise_cu: bool = Field(False, description="divide a client's update by its number of local steps")
    percentile: Percentile = Field("linear", description="cluster borders: interpolated quantiles, or equal ranks")
    trunk_end: str = Field(
        "auto",
        min_length=1,
        description="modules that every cluster has of its own, joined by commas; auto is the last block or convolution and what follows",
    )
    dilute_heads: bool = Field(
        False,
        description="average a cluster's head over the whole cohort, with the old head for those who do not train it",
    )


def aggregated_update(updates: ArrayLike, sizes: ArrayLike, au_weighting: AuWeighting = "size") -> NDArray[np.float64]:
    """AU, the mean of the clients' updates [N, d]."""
    rows, n = np.asarray(updates, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if rows.ndim != 2 or not len(rows) or n.shape != rows.shape[:1]:
        raise ConfigError(
            f"CUAU needs updates [N, d] and N sizes, but the shapes {rows.shape} and {n.shape} were given."
        )
    if not (n > 0).all():
        raise ConfigError("CUAU needs clients with at least one example each.")
    share = n / n.sum() if au_weighting == "size" else np.full(len(rows), 1.0 / len(rows))
    mean: NDArray[np.float64] = (share[:, None] * rows).sum(axis=0)
    return mean


def cuau_scores(updates: ArrayLike, sizes: ArrayLike, au_weighting: AuWeighting = "size") -> NDArray[np.float64]:
    """CUAU_k [N] of the last layer's updates CU [N, d_fc]; a constant added to all of them changes nothing."""
    mean = aggregated_update(updates, sizes, au_weighting)
    scores: NDArray[np.float64] = np.linalg.norm(np.asarray(updates, dtype=np.float64) - mean, axis=1)
    return scores


def cluster_borders(scores: ArrayLike, num_clusters: int, percentile: Percentile = "linear") -> NDArray[np.float64]:
    """P_{i/C} for i = 1..C-1: the largest score that still belongs to cluster i."""
    values = _checked(scores, num_clusters)
    if percentile == "linear":
        borders: NDArray[np.float64] = np.quantile(values, np.arange(1, num_clusters) / num_clusters)
        return borders
    last = [-(-i * len(values) // num_clusters) - 1 for i in range(1, num_clusters)]
    return np.sort(values)[last]


def assign_clusters(scores: ArrayLike, num_clusters: int, percentile: Percentile = "linear") -> NDArray[np.int64]:
    """b_k in 1..C; a score on a border belongs to the lower cluster. By rank, equal scores keep the clients' order."""
    values = _checked(scores, num_clusters)
    if percentile == "rank":
        ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        return (1 + ranks * num_clusters // len(values)).astype(np.int64)
    return place(values, cluster_borders(values, num_clusters))


def place(scores: ArrayLike, borders: ArrayLike) -> NDArray[np.int64]:
    """The clusters of scores between given borders, also of clients that were not there when these were drawn."""
    return (1 + np.searchsorted(np.asarray(borders), np.asarray(scores), side="left")).astype(np.int64)


def _checked(scores: ArrayLike, num_clusters: int) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if num_clusters < 2:
        raise ConfigError(f"FedCUAU needs at least 2 clusters, but {num_clusters} was given; one cluster is FedAvg.")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ConfigError("FedCUAU needs one finite CUAU score per client.")
    if len(values) < num_clusters:
        raise ConfigError(f"{num_clusters} clusters need as many clients, but CUAU is known of {len(values)} only.")
    return values
