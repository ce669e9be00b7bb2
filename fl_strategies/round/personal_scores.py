"""What clients say of their own models, as numbers of a round: the mean, and how unequal it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import ClientId, client_order
from fl_strategies.round.records import Record


def worst_decile(accuracies: NDArray[np.float64]) -> float:
    """Mean accuracy of the tenth of the clients that is served worst (at least one client)."""
    return float(np.sort(accuracies)[: math.ceil(len(accuracies) / 10)].mean())


def personal_record(scores: Mapping[ClientId, Mapping[str, Any]]) -> Record:
    """From `accuracy` (after fine-tuning) and `accuracy-before` of every client."""
    ids = sorted(scores, key=client_order)
    after = np.array([scores[client]["accuracy"] for client in ids], dtype=float)
    before = np.array([scores[client].get("accuracy-before", np.nan) for client in ids], dtype=float)
    return {
        "personal/accuracy": after.mean(),
        "personal/std": after.std(),
        "personal/worst_decile": worst_decile(after),
        "personal/before": before.mean(),
        "personal/client_ids": ids,
        "personal/client_accuracy": after,
        "personal/client_before": before,
    }
