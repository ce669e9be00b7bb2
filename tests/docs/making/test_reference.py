"""Reference pages follow from the parser, the docstrings and the presets."""

from __future__ import annotations

import fedloom
from docs.making import reference
from fedloom.preset import names
from fl_config.options import FLAGS


def test_every_flag_and_every_command_is_there() -> None:
    text = reference.pages()["reference/commands.md"]
    run = text.partition("## fedloom run")[2].partition("\n## ")[0]
    assert [flag for flag in FLAGS if flag not in ("sources", "code") and f"`--{flag}" not in run] == []
    assert "### fedloom deploy init" in text and r"`--dataset NAME\|FORM:PLACE`" in text


def test_every_public_name_is_there_with_its_words() -> None:
    text = reference.pages()["reference/python.md"]
    assert [name for name in fedloom.__all__ if f"## fedloom.{name}\n" not in text] == []
    assert "### Run.predict" in text and "callbacks     told about every round" in text


def test_every_preset_is_there() -> None:
    text = reference.pages()["reference/presets.md"]
    assert [name for name in names() if f"| `{name}` |" not in text] == []
