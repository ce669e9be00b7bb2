"""What the server evaluates on, and what a client keeps back: `--target` and the held-out split.

Targets (FedSSA, section 5.1): `uniform` is the test set as it is; `skew:CLIENT` follows the training labels of that client (a name or number);
`imbalanced:RHO` has n_c = n_1 RHO^{-(c-1)/(C-1)} (the printed exponent's sigma is C); `npz:FILE` is a set of the user's, and
so are `csv:FILE` and `parquet:FILE`, whose rows are encoded as the data set's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fl_config.errors import ConfigError, closest
from fl_config.seeds import rng
from fl_data.dataset import DataError, Dataset
from fl_data.formats.labels import read_labels
from fl_data.formats.npz import arrange, open_npz
from fl_data.partitions.longtail import longtail_indices

_FILES = ("npz", "csv", "parquet")
_FORMS = {
    "uniform": "uniform", "skew": "skew:CLIENT", "imbalanced": "imbalanced:RHO",
    **{name: f"{name}:FILE" for name in _FILES},
}  # fmt: skip
ClientCounts = Sequence[np.ndarray] | np.ndarray


def check_target_spec(spec: str, named: bool = True) -> None:
    """Raise a sentence unless the spec can be read; whether that client exists is not looked at. `named`: clients may have names."""
    name, _, argument = spec.partition(":")
    if name not in _FORMS:
        near = closest(name, _FORMS)
        hint = f"did you mean {_FORMS[near]}?" if near else f"known are {', '.join(_FORMS.values())}."
        raise ConfigError(f"--target {spec!r} is unknown; {hint}")
    if (":" in spec) != (name != "uniform"):
        raise ConfigError(f"--target {spec!r} has another form than {_FORMS[name]}.")
    if name == "skew" and (not argument or not (named or _is_number(argument))):
        kinds = "name or number" if named else "number, 0 or more"
        raise ConfigError(f"--target {spec!r}: CLIENT must be a client's {kinds}, not {argument!r}.")
    if name == "imbalanced":
        _ratio(argument, spec)
    if name in _FILES and not Path(argument).expanduser().is_file():
        raise ConfigError(f"--target {spec!r} names no file that exists.")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _ratio(text: str, spec: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 1):
        raise ConfigError(f"--target {spec!r}: RHO must be a number of 1 or more, not {text!r}.")
    return value


def target_indices(
    spec: str, dataset: Dataset, client_counts: ClientCounts | None, seed: int, names: Sequence[str] | None = None
) -> np.ndarray:
    """Sorted indices into the test set for `uniform`, `skew:CLIENT` and `imbalanced:RHO`; `names` are those of the clients."""
    check_target_spec(spec)
    name, _, argument = spec.partition(":")
    labels = np.asarray(dataset.y_test)
    if name in _FILES:
        raise ConfigError(f"--target {spec!r} is a set of its own and has no indices into the test set.")
    if not len(labels):
        raise DataError(f"The dataset {dataset.name} has no test samples to build the target {spec!r} from.")
    if name == "uniform":
        return np.arange(len(labels))
    if dataset.labels != "classes":
        raise ConfigError(
            f"--target {spec!r} chooses samples by class, but a sample here has no single class; use uniform."
        )
    labels = labels.astype(np.int64)
    generator = rng(seed, "target", spec)
    if name == "imbalanced":
        return longtail_indices(labels, dataset.num_classes, _ratio(argument, spec), generator)
    return _skewed(labels, _counts_of(argument, spec, client_counts, names), spec, generator)


def _counts_of(client: str, spec: str, counts: ClientCounts | None, names: Sequence[str] | None) -> np.ndarray:
    """The label counts of one client, by its name where clients have names; its number always works."""
    place = list(names).index(client) if names and client in names else int(client) if _is_number(client) else -1
    if counts is None or not 0 <= place < len(counts):
        numbers = "none" if counts is None else f"0..{len(counts) - 1}"
        there = f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}" if names else numbers
        raise ConfigError(f"--target {spec!r}: there is no client {client}; the clients are {there}.")
    return np.asarray(counts[place])


def _skewed(labels: np.ndarray, counts: np.ndarray, spec: str, generator: np.random.Generator) -> np.ndarray:
    """The largest subset with class proportions as in `counts`; in whole numbers, so that nothing is rounded away twice."""
    have = np.bincount(labels, minlength=len(counts))
    shared = [label for label in range(len(counts)) if counts[label] > 0 and have[label] > 0]
    if not shared:
        raise ConfigError(f"--target {spec!r}: the test set has no sample of that client's classes.")
    scarce = min(shared, key=lambda label: have[label] / counts[label])
    limit, base = int(have[scarce]), int(counts[scarce])
    kept = []
    for label in shared:
        count = int(counts[label]) * limit // base
        kept.append(generator.permutation(np.flatnonzero(labels == label))[:count])
    return np.sort(np.concatenate(kept))


def target_set(
    spec: str, dataset: Dataset, client_counts: ClientCounts | None, seed: int, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Samples and labels of the target; a file without labels gives None for them."""
    check_target_spec(spec)
    name, _, place = spec.partition(":")
    if name == "npz":
        return _npz_target(Path(place).expanduser(), dataset)
    if name in _FILES:
        return _table_target(spec, Path(place).expanduser(), name, dataset)
    chosen = target_indices(spec, dataset, client_counts, seed, names)
    if len(chosen) == len(dataset.y_test):
        return dataset.x_test, np.asarray(dataset.y_test)
    return np.asarray(dataset.x_test[chosen]), np.asarray(dataset.y_test[chosen])


def _table_target(spec: str, path: Path, form: str, dataset: Dataset) -> tuple[np.ndarray, np.ndarray | None]:
    from fl_data.tables import read

    if dataset.encoding is None:
        raise ConfigError(
            f"--target {spec!r} is a table, but {dataset.name} is none and cannot say how to read its rows."
        )
    table = read(path, form)
    return dataset.encoding.apply(table), dataset.encoding.targets(table)


def _npz_target(path: Path, dataset: Dataset) -> tuple[np.ndarray, np.ndarray | None]:
    content = open_npz(path)
    x_key, y_key = ("x_test", "y_test") if "x_test" in content else ("x", "y")
    if x_key not in content:
        raise DataError(f"{path} has neither x_test nor x (it has {', '.join(sorted(content)) or 'nothing'}).")
    kind, x = arrange(content[x_key], path, x_key)
    if kind != dataset.kind or x.shape[1:] != dataset.shape:
        raise DataError(
            f"{path} has {kind} of shape {x.shape[1:]}, but {dataset.name} has {dataset.kind} of shape {dataset.shape}."
        )
    if not len(x):
        raise DataError(f"{path} has no samples in {x_key}.")
    if kind == "tokens" and int(x.max()) >= dataset.vocabulary:
        raise DataError(f"{path} has the token {x.max()}, but {dataset.name} has {dataset.vocabulary} tokens.")
    if y_key not in content:
        return x, None
    y = read_labels(content[y_key], len(x), path, y_key, dataset.labels)
    if dataset.labels == "classes":
        return x, _as_classes(y, dataset, path)
    if y.shape[1:] != dataset.y_train.shape[1:]:
        raise DataError(
            f"{path} has {y_key} of shape {y.shape}, but {dataset.name} has labels of shape {dataset.y_train.shape[1:]} per sample."
        )
    return x, y


def _as_classes(labels: np.ndarray, dataset: Dataset, path: Path) -> np.ndarray:
    """Class numbers; the labels of a renumbered npz dataset are translated by the names it kept."""
    if dataset.name.startswith("npz:"):
        number = {int(name): place for place, name in enumerate(dataset.class_names)}
    else:
        number = {place: place for place in range(dataset.num_classes)}
    unknown = sorted(set(labels.tolist()) - set(number))
    if unknown:
        raise DataError(
            f"{path} has the label {unknown[0]}, which is none of the {dataset.num_classes} of {dataset.name}."
        )
    return np.array([number[label] for label in labels.tolist()], dtype=np.int64)


def held_out_count(samples: int, fraction: float) -> int:
    """How many of a client's samples are held out."""
    return min(round(fraction * samples), max(0, samples - 1))


def held_out_split(
    indices: np.ndarray, labels: np.ndarray, fraction: float, seed: int, client: int | str
) -> tuple[np.ndarray, np.ndarray]:
    """(training, held-out) indices of one client, each class in proportion; one training sample or more stays.

    `labels` are the labels of the whole training set, which `indices` point into. Where they are no classes (floats, or
    several per sample), the held-out samples are drawn without regard to them.
    """
    if not 0 <= fraction < 1:
        raise ConfigError(f"The held-out fraction must be at least 0 and below 1, not {fraction}.")
    indices = np.sort(np.asarray(indices, dtype=np.int64))
    total = held_out_count(len(indices), fraction)
    if total == 0:
        return indices, indices[:0]
    generator = rng(seed, "held-out", client)
    own = _strata(np.asarray(labels)[indices])
    shuffled = generator.permutation(len(indices))
    # Place of each sample within its class, as a share: taking the smallest shares takes evenly from every class.
    rank = np.empty(len(indices))
    for label in np.unique(own):
        members = shuffled[own[shuffled] == label]
        rank[members] = (np.arange(len(members)) + generator.random()) / len(members)
    held = np.zeros(len(indices), dtype=bool)
    held[np.argsort(rank, kind="stable")[:total]] = True
    return indices[~held], indices[held]


def _strata(labels: np.ndarray) -> np.ndarray:
    return labels if labels.ndim == 1 and labels.dtype.kind != "f" else np.zeros(len(labels), dtype=np.int64)
