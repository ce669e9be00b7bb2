"""The sums of a model's features over the client's samples of each class, and how many those are; they leave it only in a secure sum.

    n_kc = |{x in D_k : y = c}|,   A_kc = sum of phi(x) over x in D_k with y = c
phi is the input of the model's last layer, with the model in eval mode as it was received; D_k are at most `samples` of the client's
training samples, drawn by `seed`. As whole numbers: n_k0 .. n_kC, then A_k0 .. A_kC in fixed point (fl_protocol/fixed_point.py).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from clients.answers.base import Facts, vector
from fl_config.seeds import rng
from fl_protocol.fixed_point import to_fixed

BATCH = 250


@vector("class_features")
def class_features(facts: Facts, samples: int = 2000, seed: int = 0) -> NDArray[np.int64]:
    count, model = len(facts.data), facts.flat.model
    places = np.arange(count)
    if samples < count:
        places = np.sort(rng(seed, "class-features").choice(count, samples, replace=False))
    counts, sums = np.zeros(facts.num_classes, dtype=np.int64), np.zeros((facts.num_classes, 0))
    model.eval()
    with torch.no_grad():
        for part in torch.split(torch.from_numpy(places), BATCH):
            x, y = facts.data.batch(part.to(facts.flat.theta.device))
            assert y is not None  # a client without labels is not built
            features, labels = model.outputs(x).z.flatten(1).double().cpu().numpy(), y.cpu().numpy()
            sums = sums if sums.size else np.zeros((facts.num_classes, features.shape[1]))
            for label in np.unique(labels):  # by NumPy, which adds in the same order for any number of threads
                sums[label] += features[labels == label].sum(axis=0)
            counts += np.bincount(labels, minlength=facts.num_classes)
    return np.concatenate([counts, to_fixed(sums).ravel()])
