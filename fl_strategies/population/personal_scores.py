"""What clients say of their own models, as numbers of a round: the mean, and how unequal it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import ClientId, client_order
from fl_strategies.round.records import Record

BEFORE = "-before"  # ends the name of a score before fine-tuning


def worst_decile(scores: NDArray[np.float64], better: str = "more") -> float:
    """Mean score of the tenth of the clients that is served worst (at least one client)."""
    ordered = np.sort(scores) if better == "more" else np.sort(scores)[::-1]
    return float(ordered[: math.ceil(len(ordered) / 10)].mean())


def personal_record(
    scores: Mapping[ClientId, Mapping[str, Any]], headline: str = "accuracy", better: str = "more"
) -> Record:
    """From the scores of every client, after fine-tuning and `-before`: means, the spread of the headline, and each client's own."""
    ids = sorted(scores, key=client_order)

    def of_all(key: str) -> NDArray[np.float64]:
        return np.array([scores[client].get(key, np.nan) for client in ids], dtype=float)

    after, before = of_all(headline), of_all(headline + BEFORE)
    others = {key for one in scores.values() for key in one if not key.endswith(BEFORE)} - {headline}
    record: Record = {
        f"personal/{headline}": mean(after),
        "personal/std": float(np.nanstd(after)) if not np.isnan(after).all() else np.nan,
        "personal/worst_decile": worst_decile(after[~np.isnan(after)], better) if not np.isnan(after).all() else np.nan,
        "personal/before": mean(before),
        "personal/client_ids": ids,
        f"personal/client_{headline}": after,
        "personal/client_before": before,
    }
    for key in sorted(others):
        record |= {f"personal/{key}": mean(of_all(key)), f"personal/client_{key}": of_all(key)}
    return record


def mean(values: NDArray[np.float64]) -> float:
    """Over the clients for which it is defined."""
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan
