"""A cluster's own part of the model: which arrays it is, and how its clients' versions become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError, nearest
from fl_protocol.layout import Layout
from fl_protocol.types import Arrays
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.server_update.average import average_buffers


def head_arrays(named: Iterable[str], trunk_end: str, default: Sequence[str], private: Iterable[str] = ()) -> list[str]:
    """Names of the arrays under the modules of `trunk_end` ("auto": under `default`), without those that clients keep private."""
    known, kept = list(named), set(private)
    prefixes = list(default) if trunk_end == "auto" else [part.strip() for part in trunk_end.split(",")]
    modules = {name.rsplit(".", depth)[0] for name in known for depth in range(1, name.count(".") + 1)}
    for prefix in prefixes:
        if prefix not in modules and prefix not in known:
            raise ConfigError(
                f"cuau.trunk_end names {prefix!r}, which the model does not have{nearest(prefix, modules)} Its modules are {', '.join(sorted(modules))}."
            )
    chosen = [name for name in known if any(name == p or name.startswith(f"{p}.") for p in prefixes)]
    left = [name for name in chosen if name not in kept]
    if not left:
        raise ConfigError(
            f"The clusters' heads would be empty: clients keep all of {', '.join(prefixes)} private or fixed; name more modules in cuau.trunk_end."
        )
    return left


def average_head(
    layout: Layout, sent: Arrays, heads: Sequence[Arrays | None], weights: NDArray[np.float64], dilute: bool = False
) -> Arrays:
    """One cluster's head after a round: w + sum p_k (w_k - w) over those who trained it, p renormalised over them.

    None marks a client that did not; with `dilute` it counts with the head as it was sent. Nobody, or nobody with a weight: unchanged.
    """
    trained = [row for row, head in enumerate(heads) if head is not None]
    if not weights[trained].sum() > 0:
        return sent
    rows = list(range(len(heads))) if dilute else trained
    share = weights[rows] / weights[rows].sum()
    given = [heads[row] or sent for row in rows]
    start = layout.pack(sent)
    updates = np.stack([layout.pack(head) - start for head in given])
    vector = (start + weighted_sum(share, updates)).astype(np.float32)
    return layout.unpack(vector, average_buffers([{n: head[n] for n in layout.buffers} for head in given], share))
