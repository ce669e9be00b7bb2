"""Any data set by its spec: a name of the catalog, or a way in for a user's own data such as `npz:FILE`."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_data.catalog import entry_of
from fl_data.dataset import Dataset, Labels, Normalise
from fl_data.formats.ways import Wanted, check_place, check_wanted, find
from fl_data.store.cache import available, cache_folder, fetch, open_stored
from fl_data.store.verification import fingerprint

if TYPE_CHECKING:
    from fl_data.tables.encoding import Encoding

__all__ = ["available", "cache_folder", "check_dataset_spec", "fetch", "fingerprint", "load"]

_KEPT_OPEN = 4
_opened: OrderedDict[tuple[Any, ...], Dataset] = OrderedDict()


def check_dataset_spec(spec: str, label: str = "", labels: Labels = "classes", column: str = "") -> None:
    """Raise a sentence unless the spec is a known name or a way in to something that exists, and can give what is wanted."""
    _check(spec, Wanted(label, labels, column))


def load(
    spec: str,
    cache: Path | None = None,
    fetch: bool = True,
    *,
    label: str = "",
    labels: Labels = "classes",
    column: str = "",
    normalise: Normalise = "auto",
    encoding: Encoding | None = None,
) -> Dataset:
    """The dataset of a spec; one of the catalog is fetched if it is not there and `fetch` is true.

    `label` is the column to predict, of a table. `labels` is what the task predicts: classes, numbers, or many classes per
    sample. `column` is the column that names the clients, which is no feature then. `normalise="none"` leaves images as
    pixels / 255 and numbers of a table as they are. `encoding` treats a table as another one was treated.
    """
    wanted = Wanted(label, labels, column, normalise, encoding)
    _check(spec, wanted)
    found = find(spec)
    place = cache_folder(cache) if found is None else found[1]
    if found is None or found[0].place != "nowhere":
        place = place.resolve()
    key = (spec if found is None else found[0].name, str(place), *(() if found is None else _state_of(place)), wanted)
    if key in _opened:
        _opened.move_to_end(key)
        return _opened[key]
    dataset = open_stored(entry_of(spec), place, fetch) if found is None else found[0].read(place, wanted)
    if normalise == "none" and dataset.kind == "image":
        channels = dataset.shape[0]
        dataset = replace(dataset, mean=(0.0,) * channels, std=(1.0,) * channels)
    _opened[key] = dataset
    while len(_opened) > _KEPT_OPEN:
        _opened.popitem(last=False)
    return dataset


def _check(spec: str, wanted: Wanted) -> None:
    found = find(spec)
    if found is None:
        entry_of(spec)
    else:
        check_place(spec, *found)
    check_wanted(spec, None if found is None else found[0], wanted)


def _state_of(path: Path) -> tuple[int, int]:
    """What changes when a file, or a file of a folder, is written: the newest time and the total of sizes or entries."""
    if path.is_file():
        return path.stat().st_mtime_ns, path.stat().st_size
    if not path.is_dir():
        return 0, 0
    times = [item.stat().st_mtime_ns for item in path.rglob("*")]
    return max([path.stat().st_mtime_ns, *times]), len(times)
