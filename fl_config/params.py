"""The parameters of a part, declared where the part lives: one pydantic class with a default, a range and a help text each."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


class ConfigError(ValueError):
    """A wrong option or parameter; the message is a sentence for the user."""


class Params(BaseModel):
    """Base of every part's parameters; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def sentences(error: ValidationError, what: str) -> str:
    """One line per problem: which key, what was given, what was expected."""
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"] if not str(part).startswith(("function-", "constrained-")))
        message = problem["msg"].removeprefix("Value error, ")
        given: Any = problem.get("input")
        lines.append(f"{what} {key!r}: {message[0].lower() + message[1:]}, but {given!r} was given.")
    return "\n".join(dict.fromkeys(lines))
