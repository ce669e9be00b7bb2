"""What a file says on top, as Markdown: paragraphs and lists as they are, and what is indented, such as an equation, as a block."""

from __future__ import annotations

import re
from collections.abc import Iterator

SIGNS = re.compile(r"([\\*_<>\[\]|$#])")


def as_markdown(text: str) -> Iterator[str]:
    """The lines of a docstring; in a list, indented lines go on with the entry above them."""
    empty = False
    for line in _lines(text):
        if line or not empty:
            yield line
        empty = not line


def _lines(text: str) -> Iterator[str]:
    indented: list[str] = []
    listed = False
    for line in text.splitlines():
        before, listed = listed, line.startswith("- ") or (listed and line.startswith("  "))
        if line.startswith("    ") and not listed:
            indented.append(line)
            continue
        yield from _block(indented)
        indented.clear()
        if before and not listed:
            yield ""  # the paragraph after a list is no part of its last entry
        yield escaped(line)
    yield from _block(indented)


def escaped(text: str) -> str:
    """Text in which no sign means something to Markdown, but for the code between two backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else SIGNS.sub(r"\\\1", piece) for piece in pieces)


def _block(lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", "```text", *(line[4:] for line in lines), "```", "")
