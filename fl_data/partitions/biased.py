"""`biased:B:U`: FedDisco's NIID-2, B clients with C/5 classes each and U clients with all; balanced classes give equal sizes.

Ye et al., "FedDisco", ICML 2023. The unbiased clients take U/(B+U) of every class, and all of a class that no biased client
holds. The paper's equal sizes follow from its Table 13: uniform weights and FedAvg's give the same numbers under NIID-2.
"""

from __future__ import annotations

import numpy as np

from fl_config.errors import ConfigError
from fl_data.partitions.schemes import Argument, Parts, Request, scheme
from fl_data.partitions.shards import deal_shards


@scheme(
    "biased:B:U",
    "B clients with a fifth of the classes each, U clients with all classes",
    Argument("B", at_least=1, whole=True),
    Argument("U", at_least=0, whole=True),
    example="biased:5:1",
)
def divide(ask: Request) -> Parts:
    pools = ask.shuffled_classes()
    biased, unbiased = int(ask.values[0]), int(ask.values[1])
    if biased + unbiased != ask.clients:
        raise ConfigError(f"{ask.what} describes {biased + unbiased} clients, but --clients is {ask.clients}.")
    present = [label for label, pool in enumerate(pools) if len(pool)]
    each = min(max(1, round(len(pools) / 5)), len(present))
    if unbiased == 0 and biased * each < len(present):
        raise ConfigError(
            f"{ask.what}: {biased} biased clients of {each} classes cannot hold {len(present)} classes; "
            "add an unbiased client or more biased ones."
        )
    held = set(ask.generator.permutation(present)[: biased * each].tolist())
    general: list[np.ndarray] = []
    special: list[np.ndarray] = []
    for label, pool in enumerate(pools):
        cut = round(len(pool) * unbiased / ask.clients) if label in held else len(pool)
        general.append(pool[:cut])
        special.append(pool[cut:])
    everyone = deal_shards(special, biased, each, ask.generator, ask.what)
    for client in range(unbiased):
        # Rotated, so that the remainders of the classes do not all go to the first client.
        shares = [np.array_split(pool, unbiased)[(client + turn) % unbiased] for turn, pool in enumerate(general)]
        everyone.append(np.concatenate(shares))
    return everyone
