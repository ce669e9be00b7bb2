"""What a run keeps of its data, as `data.json` in its folder: enough to treat new samples as the training samples were treated."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_config.files import write_atomically
from fl_data.dataset import DataError, Dataset, Kind, Labels

if TYPE_CHECKING:
    from fl_data.tables.encoding import Encoding

FILE, ENCODING = "data.json", "encoding.json"
VERSION = 1


@dataclass(frozen=True)
class DataCard:
    """The fields are those of `Dataset`, without the samples."""

    name: str
    kind: Kind
    shape: tuple[int, ...]
    labels: Labels
    label_shape: tuple[int, ...]  # of one sample; empty for one class or one number
    num_classes: int
    class_names: tuple[str, ...]
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    flips: bool
    vocabulary: int
    words: tuple[str, ...] = ()
    encoding: Encoding | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> DataCard:
        own = {each.name: getattr(dataset, each.name) for each in fields(cls) if each.name != "label_shape"}
        return cls(label_shape=tuple(int(side) for side in dataset.y_train.shape[1:]), **own)

    @property
    def outputs(self) -> int:
        """How many numbers a model gives for one sample."""
        if self.labels == "numbers":
            return self.label_shape[0] if self.label_shape else 1
        return self.num_classes

    @property
    def output_names(self) -> tuple[str, ...]:
        """What each of these numbers is called: the class, or the column."""
        return self.class_names if len(self.class_names) == self.outputs else tuple(map(str, range(self.outputs)))

    def write(self, folder: Path) -> None:
        """The encoding of a table is a file of its own in the run folder."""
        content = {"version": VERSION, **asdict(self)}
        del content["encoding"]
        write_atomically(folder / FILE, (json.dumps(content, ensure_ascii=False) + "\n").encode())

    @classmethod
    def read(cls, folder: Path) -> DataCard | None:
        """The card in a run folder; None where the run is older than cards."""
        path = folder / FILE
        if not path.is_file():
            return None
        from fl_data.tables.encoding import Encoding

        encoding = Encoding.read(folder / ENCODING) if (folder / ENCODING).is_file() else None
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if content.pop("version") != VERSION:
                raise ValueError(f"version {VERSION} was expected")
            as_tuples: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
            }
            return cls(**as_tuples, encoding=encoding)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path} does not describe data as a run writes it ({error}).") from error
