"""Wrong input as sentences: what was given, what was expected, and the nearest name that exists."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError


class ConfigError(ValueError):
    """A wrong option or parameter; the message is a sentence for the user."""


def sentences(error: ValidationError, what: str) -> str:
    """One line per wrong key: which key, what was expected, what was given."""
    expected: dict[str, list[str]] = {}
    given: dict[str, Any] = {}
    for problem in error.errors():
        key = str(problem["loc"][0]) if problem["loc"] else ""
        message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        expected.setdefault(key, []).append(message[0].lower() + message[1:])
        given[key] = problem.get("input")
    lines = []
    for key, messages in expected.items():
        wanted = " or ".join(dict.fromkeys(messages))
        lines.append(
            f"{what} {key!r}: expected {wanted}, but {given[key]!r} was given." if key else f"{what}: {wanted}."
        )
    return "\n".join(lines)


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: '; did you mean X?', or a full stop."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else "."


def last_line(text: str | None) -> str:
    """The last line of an error text, where the exception stands, cut to a readable length."""
    lines = [line for line in (text or "").strip().splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no reason given"
