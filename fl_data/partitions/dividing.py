"""The training samples divided among clients: what every partition has in common."""

from __future__ import annotations

import heapq

import numpy as np

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from fl_data.dataset import Dataset
from fl_data.partitions.longtail import longtail_indices
from fl_data.partitions.schemes import Columns, Parsed, Parts, Request, forms, parse


def check_partition_spec(spec: str) -> None:
    """Raise a sentence unless the spec can be read; data and number of clients are not looked at."""
    parse(spec)


def names_clients(spec: str) -> bool:
    """Whether the partition may name its clients, so that their number is known from the data only."""
    return parse(spec).scheme.names is not None


def client_names(spec: str, dataset: Dataset) -> tuple[str, ...] | None:
    """The clients' names in the order of the parts, where the partition has names; None where clients are numbered."""
    parsed = parse(spec)
    return None if parsed.scheme.names is None else parsed.scheme.names(parsed.text, dataset.columns, spec)


def partition(
    spec: str,
    labels: np.ndarray,
    num_clients: int,
    num_classes: int,
    seed: int,
    min_samples: int = 2,
    columns: Columns | None = None,
) -> Parts:
    """Sorted sample indices of each client, `min_samples` or more.

    They are disjoint and together all samples (of the long tail), except that `file:` may leave samples out, that `labels:K`
    leaves out the classes that no client holds, and that clients of `drawn:` share samples and are computed when asked for.
    """
    parsed = parse(spec)
    if num_clients < 1:
        raise ConfigError(f"--clients must be 1 or more, not {num_clients}.")
    if not len(labels):
        raise ConfigError(
            "The data set has no training samples that could be divided among clients: give one that has, or let clients bring their "
            "own, with --partition private (`fedloom deploy submit`)."
        )
    classes = _classes(parsed, np.asarray(labels), num_classes)
    generator = rng(seed, "partition", spec, num_clients)
    kept = np.arange(len(classes))
    if parsed.longtail is not None:
        kept = longtail_indices(classes, num_classes, parsed.longtail, generator)
    if parsed.scheme.repair and len(kept) < num_clients * min_samples:
        raise ConfigError(
            f"{num_clients} clients with at least {min_samples} samples each need {num_clients * min_samples:,} samples, "
            f"but there are {len(kept):,}; use fewer clients or a larger dataset."
        )
    if parsed.scheme.plain_seed:
        generator = np.random.default_rng(seed)
    places = parsed.scheme.divide(
        Request(
            spec, parsed.values, parsed.text, kept, classes[kept], num_clients, num_classes, min_samples, seed, generator,
            {name: np.asarray(column)[kept] for name, column in (columns or {}).items()},
        )
    )  # fmt: skip
    if not parsed.scheme.repair:
        return places
    parts = [kept[place] for place in places]
    return [np.sort(part).astype(np.int64) for part in top_up(parts, min_samples, generator)]


def _classes(parsed: Parsed, labels: np.ndarray, num_classes: int) -> np.ndarray:
    """The class of each sample; all 0 where labels are numbers or several per sample, which not every partition can take."""
    if num_classes > 0 and labels.ndim == 1:
        classes = labels.astype(np.int64)
        if len(classes) and (classes.min() < 0 or classes.max() >= num_classes):
            raise ConfigError(f"The labels {classes.min()}..{classes.max()} do not fit {num_classes} classes.")
        return classes
    if parsed.scheme.by_class or parsed.longtail is not None:
        raise ConfigError(
            f"--partition {parsed.spec!r} divides by class, but a sample here has no single class; "
            f"use {', '.join(forms(by_class=False))}."
        )
    return np.zeros(len(labels), dtype=np.int64)


def top_up(parts: list[np.ndarray], least: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Move random samples from the largest clients to those below the minimum."""
    short = [client for client, part in enumerate(parts) if len(part) < least]
    if not short:
        return parts
    pools = [generator.permutation(part).tolist() for part in parts]
    largest = [(-len(pool), client) for client, pool in enumerate(pools) if len(pool) > least]
    heapq.heapify(largest)
    for client in short:
        while len(pools[client]) < least:
            size, giver = heapq.heappop(largest)
            pools[client].append(pools[giver].pop())
            if -size - 1 > least:
                heapq.heappush(largest, (size + 1, giver))
    return [np.array(pool, dtype=np.int64) for pool in pools]
