"""The parameters of a part, declared where the part lives: one pydantic class with a default, a range and a help text each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


class ConfigError(ValueError):
    """A wrong option or parameter; the message is a sentence for the user."""


class Params(BaseModel):
    """Base of every part's parameters; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def sentences(error: ValidationError, what: str) -> str:
    """One line per wrong key: which, what was expected, what was given."""
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
