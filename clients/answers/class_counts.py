"""How many examples of each class the client has; leaves it only inside a secure sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clients.answers.base import Facts, vector


@vector("class_counts")
def class_counts(facts: Facts) -> NDArray[np.int64]:
    return facts.counts
