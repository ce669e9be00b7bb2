"""Published files in a folder that is already there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_data import DataError, sources
from fl_data.catalog import Source
from fl_data.dataset import Decoded
from tests.fl_data.sources.toy_source import reader


def test_an_empty_folder_does_not_hide_the_next(tmp_path: Path) -> None:
    (tmp_path / "raw" / "gzip").mkdir(parents=True)
    (tmp_path / "raw" / "gzip" / "value").write_text("4")

    def strict(folder: Path) -> Decoded:
        if not (folder / "value").is_file():
            raise DataError(f"{folder} has no file value.")
        return reader(folder)

    source = Source("files", "", ("raw", "raw/gzip"), strict)
    assert sources.from_folders(source, [tmp_path]).x_train.max() == 4
    with pytest.raises(DataError, match="raw has no file value"):
        sources.from_folders(Source("files", "", ("raw",), strict), [tmp_path])
