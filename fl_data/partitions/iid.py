"""`iid`: the samples in random order, cut into equal parts."""

from __future__ import annotations

import numpy as np

from fl_data.partitions.schemes import Parts, Request, scheme


@scheme("iid", "equal parts of the samples in random order", by_class=False)
def divide(ask: Request) -> Parts:
    return list(np.array_split(ask.generator.permutation(len(ask.labels)), ask.clients))
