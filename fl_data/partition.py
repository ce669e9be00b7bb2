"""How the training samples are divided among clients: every `--partition`, as a function of labels and a seed.

`iid` · `dirichlet:BETA` (each class divided by a Dirichlet draw; sizes vary) · `lda:ALPHA` (equal sizes, each client's class
mix drawn from a Dirichlet) · `shards:CLASSES` · `biased:B:U` (FedDisco's NIID-2) · `mixed:A1,A2,...` (lda in equal groups) ·
`file:FILE.json`; `longtail:RHO,` before any but `file` thins the classes first, n_c = n_1 RHO^{-(c-1)/(C-1)}.
Own code: flwr-datasets' partitioners need a Hugging Face Dataset, and its Dirichlet partitioner redraws without a repair.
"""

from __future__ import annotations

import difflib
import heapq
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from fl_data.allocation import deal_mixes, deal_shards

_FORMS = {
    "iid": "iid", "dirichlet": "dirichlet:BETA", "lda": "lda:ALPHA", "shards": "shards:CLASSES",
    "biased": "biased:B:U", "mixed": "mixed:ALPHA,ALPHA,...", "file": "file:FILE.json",
}  # fmt: skip
_REDRAWS = 20
Parts = list[np.ndarray]


@dataclass(frozen=True)
class Scheme:
    """A parsed `--partition`."""

    spec: str
    name: str
    numbers: tuple[float, ...] = ()
    file: Path | None = None
    longtail: float | None = None


def parse(spec: str) -> Scheme:
    """The scheme of a spec, or a sentence about what is wrong with it."""
    longtail = None
    rest = spec.strip()
    if rest.startswith("longtail:"):
        ratio, comma, rest = rest.removeprefix("longtail:").partition(",")
        longtail = _number(ratio, spec, "RHO", at_least=1.0)
        if not comma or not rest:
            raise ConfigError(
                f"--partition {spec!r} thins the classes but does not divide them; add one, as in longtail:50,iid."
            )
    name, colon, argument = rest.partition(":")
    if name not in _FORMS:
        near = difflib.get_close_matches(name, [*_FORMS, "longtail"], n=1, cutoff=0.4)
        hint = (
            f"did you mean {_FORMS.get(near[0], 'longtail:RHO,...')}?"
            if near
            else f"known are {', '.join(_FORMS.values())}."
        )
        raise ConfigError(f"--partition {spec!r} is unknown; {hint}")
    if bool(argument) != (name != "iid") or (name == "iid" and colon):
        raise ConfigError(f"--partition {spec!r} has another form than {_FORMS[name]}.")
    if name == "file":
        if longtail is not None:
            raise ConfigError(
                f"--partition {spec!r}: longtail cannot precede a file, whose indices already choose the samples."
            )
        if not Path(argument).expanduser().is_file():
            raise ConfigError(f"--partition {spec!r} names no file that exists.")
        return Scheme(spec, name, file=Path(argument).expanduser())
    return Scheme(spec, name, _numbers(name, argument, spec), longtail=longtail)


def _numbers(name: str, argument: str, spec: str) -> tuple[float, ...]:
    if name == "iid":
        return ()
    if name == "shards":
        return (_number(argument, spec, "CLASSES", at_least=1, whole=True),)
    if name == "biased":
        parts = argument.split(":")
        if len(parts) != 2:
            raise ConfigError(f"--partition {spec!r} has another form than biased:B:U, as in biased:5:1.")
        return (
            _number(parts[0], spec, "B", at_least=1, whole=True),
            _number(parts[1], spec, "U", at_least=0, whole=True),
        )
    parts = argument.split(",") if name == "mixed" else [argument]
    return tuple(_number(part, spec, "BETA" if name == "dirichlet" else "ALPHA") for part in parts)


def _number(text: str, spec: str, what: str, at_least: float | None = None, whole: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    fits = math.isfinite(value) and (value > 0 if at_least is None else value >= at_least)
    if not fits or (whole and value != int(value)):
        bound = "above 0" if at_least is None else f"of {at_least:g} or more"
        raise ConfigError(
            f"--partition {spec!r}: {what} must be a {'whole ' if whole else ''}number {bound}, not {text!r}."
        )
    return value


def check_partition_spec(spec: str) -> None:
    """Raise a sentence unless the spec can be read; data and number of clients are not looked at."""
    parse(spec)


def partition(
    spec: str, labels: np.ndarray, num_clients: int, num_classes: int, seed: int, min_samples: int = 2
) -> Parts:
    """Sorted sample indices of each client: disjoint, together all samples (of the long tail), `min_samples` or more each."""
    scheme = parse(spec)
    labels = np.asarray(labels).astype(np.int64)
    if num_clients < 1:
        raise ConfigError(f"--clients must be 1 or more, not {num_clients}.")
    if len(labels) and (labels.min() < 0 or labels.max() >= num_classes):
        raise ConfigError(f"The labels {labels.min()}..{labels.max()} do not fit {num_classes} classes.")
    if scheme.file is not None:
        return _from_file(scheme.file, len(labels), num_clients, min_samples)
    generator = rng(seed, "partition", spec, num_clients)
    kept = np.arange(len(labels))
    if scheme.longtail is not None:
        kept = longtail_indices(labels, num_classes, scheme.longtail, generator)
    if len(kept) < num_clients * min_samples:
        raise ConfigError(
            f"{num_clients} clients with at least {min_samples} samples each need {num_clients * min_samples:,} samples, "
            f"but there are {len(kept):,}; use fewer clients or a larger dataset."
        )
    places = _divide(scheme, labels[kept], num_clients, num_classes, generator, least=min_samples)
    parts = [kept[place] for place in places]
    return [np.sort(part).astype(np.int64) for part in top_up(parts, min_samples, generator)]


def _divide(
    scheme: Scheme, labels: np.ndarray, clients: int, classes: int, generator: np.random.Generator, *, least: int
) -> Parts:
    if scheme.name == "iid":
        return list(np.array_split(generator.permutation(len(labels)), clients))
    pools = [generator.permutation(np.flatnonzero(labels == label)) for label in range(classes)]
    if scheme.name == "dirichlet":
        return _dirichlet(pools, clients, scheme.numbers[0], generator, least)
    if scheme.name == "shards":
        return deal_shards(pools, clients, int(scheme.numbers[0]), generator, f"--partition {scheme.spec!r}")
    if scheme.name == "biased":
        return _biased(scheme, pools, clients, generator)
    if len(scheme.numbers) > clients:
        raise ConfigError(
            f"--partition {scheme.spec!r} has {len(scheme.numbers)} groups but there are {clients} clients."
        )
    # Groups in order; where the clients do not divide evenly, the first groups have one more.
    groups = np.array_split(np.arange(clients), len(scheme.numbers))
    alphas = np.concatenate([np.full(len(group), alpha) for group, alpha in zip(groups, scheme.numbers, strict=True)])
    return deal_mixes(pools, alphas, generator)


def _dirichlet(pools: Parts, clients: int, beta: float, generator: np.random.Generator, least: int) -> Parts:
    """Class by class, shares ~ Dir(beta); redrawn a few times while a client has too little, the best draw is kept."""
    best: np.ndarray | None = None
    sizes = np.array([len(pool) for pool in pools])
    for _ in range(_REDRAWS):
        shares = generator.dirichlet(np.full(clients, beta), size=len(pools))
        cuts = np.rint(np.cumsum(shares, axis=1) * sizes[:, None]).astype(np.int64)
        cuts[:, -1] = sizes
        counts = np.diff(np.minimum(cuts, sizes[:, None]), axis=1, prepend=0)
        if best is None or counts.sum(0).min() > best.sum(0).min():
            best = counts
        if best.sum(0).min() >= least:
            break
    assert best is not None
    pieces = [np.split(pool, np.cumsum(row)[:-1]) for pool, row in zip(pools, best, strict=True)]
    return [np.concatenate([piece[client] for piece in pieces]) for client in range(clients)]


def _biased(scheme: Scheme, pools: Parts, clients: int, generator: np.random.Generator) -> Parts:
    """FedDisco's NIID-2: B clients with C/5 classes each, U with all; balanced classes give equal sizes.

    The unbiased clients take U/(B+U) of every class, and all of a class that no biased client holds. (The paper's equal
    sizes follow from its Table 13: uniform weights and FedAvg's give the same numbers under NIID-2.)
    """
    spec, biased, unbiased = scheme.spec, int(scheme.numbers[0]), int(scheme.numbers[1])
    if biased + unbiased != clients:
        raise ConfigError(f"--partition {spec!r} describes {biased + unbiased} clients, but --clients is {clients}.")
    present = [label for label, pool in enumerate(pools) if len(pool)]
    each = min(max(1, round(len(pools) / 5)), len(present))
    if unbiased == 0 and biased * each < len(present):
        raise ConfigError(
            f"--partition {spec!r}: {biased} biased clients of {each} classes cannot hold {len(present)} classes; "
            "add an unbiased client or more biased ones."
        )
    held = set(generator.permutation(present)[: biased * each].tolist())
    general: Parts = []
    special: Parts = []
    for label, pool in enumerate(pools):
        cut = round(len(pool) * unbiased / clients) if label in held else len(pool)
        general.append(pool[:cut])
        special.append(pool[cut:])
    everyone = deal_shards(special, biased, each, generator, f"--partition {spec!r}")
    if unbiased:
        for client in range(unbiased):
            # Rotated, so that the remainders of the classes do not all go to the first client.
            shares = [np.array_split(pool, unbiased)[(client + turn) % unbiased] for turn, pool in enumerate(general)]
            everyone.append(np.concatenate(shares))
    return everyone


def longtail_indices(labels: np.ndarray, num_classes: int, rho: float, generator: np.random.Generator) -> np.ndarray:
    """The kept samples, n_c = n_1 rho^{-(c-1)/(C-1)}: from a class at least one and at most what it has."""
    first = int((labels == 0).sum())
    kept = []
    for label in range(num_classes):
        pool = np.flatnonzero(labels == label)
        # The nudge keeps exact powers, such as 100 * 10^-1, from being floored one too low.
        wanted = math.floor(first * rho ** (-label / max(1, num_classes - 1)) + 1e-9)
        count = min(len(pool), max(1, wanted))
        kept.append(generator.permutation(pool)[:count])
    return np.sort(np.concatenate(kept)) if kept else np.arange(0)


def top_up(parts: Parts, least: int, generator: np.random.Generator) -> Parts:
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


def _from_file(path: Path, samples: int, clients: int, least: int) -> Parts:
    """A JSON list of index lists, one a client; samples may be left out but not given twice."""
    try:
        rows = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not readable JSON ({error}); a list of index lists was expected.") from error
    if not isinstance(rows, list) or not all(
        isinstance(row, list) and all(type(value) is int for value in row) for row in rows
    ):
        raise ConfigError(f"{path} is not a list of lists of whole numbers, one list a client.")
    if len(rows) != clients:
        raise ConfigError(f"{path} describes {len(rows)} clients, but --clients is {clients}.")
    parts = [np.sort(np.array(row, dtype=np.int64)) for row in rows]
    flat = np.concatenate(parts)
    if flat.size and (flat.min() < 0 or flat.max() >= samples):
        raise ConfigError(
            f"{path} has the indices {flat.min()}..{flat.max()}, but the training set has 0..{samples - 1}."
        )
    if len(np.unique(flat)) != len(flat):
        values, times = np.unique(flat, return_counts=True)
        raise ConfigError(f"{path} gives sample {values[times.argmax()]} to {times.max()} places; each may occur once.")
    short = next((client for client, part in enumerate(parts) if len(part) < least), None)
    if short is not None:
        raise ConfigError(f"{path} gives client {short} {len(parts[short])} samples; at least {least} are needed.")
    return parts
