"""How an architecture is declared, in the file that holds it: its name, one line of help, what it reads, how its body is made.

    @architecture("linear", "multinomial logistic regression with a bias", takes="numbers")
    def linear_body(inputs: Inputs, option: None) -> Body: ...

Every file of `fl_models/architectures` is read by itself, so that a new model is one file and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from fl_config.errors import ConfigError
from fl_models.model import Body

Takes = Literal["numbers", "images", "tokens"]


class Inputs(NamedTuple):
    """What a body is built for: the shape of one example, and the number of token ids where it is a text."""

    shape: tuple[int, ...]
    vocabulary: int = 0


MakesBody = Callable[[Inputs, Any], Body]
ReadsOption = Callable[[str, str | None], Any]  # (the full name, what follows its colon or None) -> the body's option
Maker = TypeVar("Maker", bound=MakesBody)


def no_option(name: str, option: str | None) -> None:
    """For models whose name is complete as it is."""
    if option is not None:
        raise ConfigError(_unknown_option(name, option, "none"))


def one_option(word: str) -> ReadsOption:
    """For models that come in two versions: True where `word` follows the colon."""

    def read(name: str, option: str | None) -> bool:
        if option not in (None, word):
            raise ConfigError(_unknown_option(name, option, f"only {word!r}, as in {name.partition(':')[0]}:{word}"))
        return option == word

    return read


def _unknown_option(name: str, option: str | None, allowed: str) -> str:
    base = name.partition(":")[0]
    return f"Model {name!r} has the option {option!r} after the colon, but {base!r} takes {allowed}."


@dataclass(frozen=True)
class Architecture:
    """One model by name; `written` is how the help spells it, `chosen_for` are data sets and the full name `auto` takes there."""

    name: str
    what: str
    takes: Takes
    body: MakesBody
    read_option: ReadsOption = no_option
    written: str = ""
    chosen_for: Mapping[str, str] = field(default_factory=dict)


ARCHITECTURES: dict[str, Architecture] = {}


def architecture(
    name: str,
    what: str,
    *,
    takes: Takes,
    option: ReadsOption = no_option,
    written: str = "",
    chosen_for: Mapping[str, str] | None = None,
) -> Callable[[Maker], Maker]:
    """Declare the decorated function, which makes a body from (inputs, option), as the model `name`."""

    def declare(body: Maker) -> Maker:
        assert name not in ARCHITECTURES, f"the model {name!r} is declared twice"
        ARCHITECTURES[name] = Architecture(name, what, takes, body, option, written or name, dict(chosen_for or {}))
        return body

    return declare
