"""Every base as a Flower `Strategy` of its own, for people who already have a ServerApp.

    from fl_strategies import FedDisco
    FedDisco(a=0.5, b=0.1, fraction_train=0.1).start(grid, arrays, num_rounds=50)

A class is made from the recipe's row: its keyword arguments are the parameters of the parts (`a`, `b`) and those of
`ComposedStrategy` (`fraction_train`, `local`, ...); `plus="asd"` adds plug-ins. Clients must be `clients.LocalClient`s.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from fl_config.errors import ConfigError, nearest
from fl_config.papers import cited
from fl_strategies.bases import BASES
from fl_strategies.parts import PARTS
from fl_strategies.recipes import paper_of
from fl_strategies.round.options import KEYWORDS
from fl_strategies.strategy import ComposedStrategy


class NamedStrategy(ComposedStrategy):
    """A base under its own name; see `ComposedStrategy` for the arguments that all of them take."""

    base: ClassVar[str] = "fedavg"

    def __init__(self, *, plus: str = "", parts: dict[str, Any] | None = None, **arguments: Any) -> None:
        own = type(self).part_parameters()
        values = dict(parts or {})
        for name in [name for name in arguments if name not in KEYWORDS]:
            if name not in own:
                raise ConfigError(f"{type(self).__name__} has no parameter {name!r}{nearest(name, [*own, *KEYWORDS])}")
            values[own[name]] = arguments.pop(name)
        super().__init__("+".join(filter(None, [self.base, plus])), parts=values, **arguments)

    @classmethod
    def part_parameters(cls) -> dict[str, str]:
        """Keyword -> dotted key of the parameters that this base's parts declare."""
        return {field: f"{part}.{field}" for part in BASES[cls.base].parts for field in PARTS[part].params.model_fields}


def _docstring(base: str) -> str:
    row = BASES[base]
    lines = [
        row.title or "; ".join(PARTS[part].what for part in row.parts),
        "",
        f"Paper: {cited(paper_of(base))}." if paper_of(base) else "",
        "",
    ]
    for part in row.parts:
        for field, info in PARTS[part].params.model_fields.items():
            lines.append(f"{field} = {info.get_default(call_default_factory=True)!r}: {info.description}")
    return "\n".join(lines).strip()


def _named(base: str) -> type[NamedStrategy]:
    own = {"base": base, "__doc__": _docstring(base), "__module__": __name__}
    made = type(BASES[base].class_name, (NamedStrategy,), own)
    made.__signature__ = _signature(made)  # type: ignore[attr-defined]
    return made


def _signature(made: type[NamedStrategy]) -> inspect.Signature:
    """What `help` and an editor show: the parts' own parameters with their types and defaults, then the common ones."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = []
    for field, key in made.part_parameters().items():
        info = PARTS[key.split(".")[0]].params.model_fields[field]
        default = info.get_default(call_default_factory=True)
        own.append(inspect.Parameter(field, keyword, default=default, annotation=info.annotation))
    plus = inspect.Parameter("plus", keyword, default="", annotation=str)
    common = [inspect.Parameter(name, keyword, default=default) for name, default in KEYWORDS.items()]
    return inspect.Signature([*own, plus, *common])


NAMED: dict[str, type[NamedStrategy]] = {row.class_name: _named(base) for base, row in BASES.items()}
globals().update(NAMED)
