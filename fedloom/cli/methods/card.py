"""The card of a base, a part or an expression: what it does, by which equations, its parameters, its paper, and what it goes with.

Everything on it is what the parts declare, or what their rules answer when they are asked; nothing is written down twice.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from fl_config.errors import ConfigError
from fl_config.papers import PAPERS, cited
from fl_config.parts import Part
from fl_strategies.bases import BASES
from fl_strategies.meaning import NEEDS
from fl_strategies.parts import PARTS
from fl_strategies.recipes import Recipe, paper_of, parse, plugins

Entry = dict[str, Any]
COMMAND = "fedloom run --strategy"
BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def base(name: str) -> Entry:
    """A base, or an expression of several parts, as one line of the list."""
    recipe = parse(name)
    title = BASES[name].title if name in BASES else ""
    shown = _own(recipe)
    what = title or "; ".join(PARTS[part].what for part in shown)
    return {
        "name": name,
        "what": what,
        "paper": cited(paper_of(name)),
        "parts": list(recipe.parts),
        "parameters": parameters(recipe.parts),
    }


def plugin(name: str) -> Entry:
    part = PARTS[name]
    return {
        "name": name,
        "slot": part.slot,
        "what": part.what,
        "paper": cited(part.paper),
        "parameters": parameters([name]),
    }


def card(name: str) -> Entry:
    """All that is known of one name."""
    is_part = name in PARTS and name not in BASES
    parts = [name] if is_part else list(_own(parse(name)))
    papers = dict.fromkeys(filter(None, [PARTS[part].paper for part in parts]))
    return {
        **(plugin(name) if is_part else base(name)),
        "slots": {part: PARTS[part].slot for part in parts},
        "latex": latex(name, parts),
        "equations": list(dict.fromkeys(text for part in parts for text in equations(PARTS[part]))),
        "papers": [_paper(paper) for paper in papers],
        "traffic": [line for part in parts for line in traffic(PARTS[part])],
        **combinations(name, is_part),
    }


def _own(recipe: Recipe) -> tuple[str, ...]:
    """The parts that make a method, without the plain weighting that stands beside them."""
    return tuple(part for part in recipe.parts if part not in ("size", "uniform")) or recipe.parts


def parameters(parts: Iterable[str]) -> list[Entry]:
    return [
        {
            "key": f"{part}.{key}",
            "default": info.get_default(call_default_factory=True),
            "range": allowed(info),
            "help": info.description,
        }
        for part in parts
        for key, info in PARTS[part].params.model_fields.items()
    ]


def allowed(info: Any) -> str:
    """The values that a parameter takes: its bounds, or its choices."""
    kinds = get_args(info.annotation) or (info.annotation,)
    choices = [str(choice) for kind in kinds for choice in (get_args(kind) or (kind,)) if isinstance(choice, str)]
    bounds = list(info.metadata)
    for kind in kinds:
        bounds += [
            bound for extra in getattr(kind, "__metadata__", ()) for bound in getattr(extra, "metadata", [extra])
        ]
    limits = [
        f"{word} {getattr(bound, name):g}" for bound in bounds for name, word in BOUNDS.items() if hasattr(bound, name)
    ]
    if info.annotation is bool:
        choices = ["true", "false"]
    return ", or ".join(filter(None, [" and ".join(limits), ", ".join(choices)]))


def equations(part: Part) -> Iterator[str]:
    """What the files of a part say on top; for a part that says nothing there, what its class says, or its one line."""
    texts = dict.fromkeys(
        inspect.cleandoc(text)
        for half in part.halves.values()
        if (text := (getattr(sys.modules.get(half.__module__), "__doc__", None) or vars(half).get("__doc__")))
    )
    yield from texts or [part.what]


def latex(name: str, parts: Iterable[str]) -> dict[str, str]:
    """The declared equations by part; a base that has one of its own has that."""
    own = BASES[name].equation if name in BASES else ""
    return {part: inspect.cleandoc(own) or PARTS[part].equation for part in parts}


def traffic(part: Part) -> Iterator[str]:
    """What a part sends and remembers beyond the model that goes down and up, as its halves say."""
    start = f"{part.name}: "
    step = part.half("server step")
    if step is not None:
        made = step(part.params())
        state = made.init(1)
        if sent := made.broadcast(state):
            yield f"{start}the server sends {', '.join(sent)}, as large as the model"
        if made.uploads():
            yield f"{start}clients send {', '.join(made.uploads())}, as large as the model"
        if state:
            yield f"{start}the server remembers {', '.join(state)}"
    for trait, words in {
        "asks": "clients answer once, with one number each: ",
        "sums": "the server learns a sum over all clients, no single client's: ",
        "reports": "clients send with every reply one number each: ",
    }.items():
        if names := part.says(trait):
            yield f"{start}{words}{', '.join(names)}"
    for trait, words in {
        "remembers": "clients remember something between rounds",
        "private": "clients keep a part of the model to themselves",
        "several_models": "clients get and send several models, or parts of them",
        "needs_target": "the server learns on unlabelled data of its own (--target)",
    }.items():
        if any(getattr(half, trait, None) is True for half in part.halves.values()):
            yield start + words
    for need in part.says("needs") or ():
        yield f"{start}needs {NEEDS.get(need, need)}"


def combinations(name: str, is_part: bool) -> Entry:
    """What it can stand with, by the rules themselves, and a command that works."""
    if not is_part:
        fitting = [other for other in plugins() if _makes_sense(f"{name}+{other}")]
        favourite = next((other for other in ("disco", "asd", "prox") if other in fitting), "")
        return {"combines_with": fitting, "example": f"{COMMAND} {'+'.join(filter(None, [name, favourite]))}"}
    if PARTS[name].plugin:
        fitting = [other for other in BASES if _makes_sense(f"{other}+{name}")]
        return {"combines_with": fitting, "example": f"{COMMAND} {fitting[0]}+{name}" if fitting else ""}
    fitting = [other for other, row in BASES.items() if name in row.parts] or ["fedavg"]
    return {"combines_with": fitting, "example": f"{COMMAND} {fitting[0]}"}


def _makes_sense(expression: str) -> bool:
    try:
        parse(expression)
    except ConfigError:
        return False
    return True


def _paper(text: str) -> Entry:
    known = PAPERS.get(text)
    if known is None:
        return {"cited": text}
    return {"cited": f"{known.short}: {known.title}", "link": known.link, "bibtex": known.bibtex(text)}


def lines(shown: Entry) -> Iterator[str]:
    """A card as text."""
    yield f"{shown['name']}: {shown['what']}"
    yield f"  fills {', '.join(f'{slot} ({part})' for part, slot in shown['slots'].items())}"
    for text in shown["equations"]:
        yield ""
        yield from (f"  {line}".rstrip() for line in text.splitlines())
    if shown["parameters"]:
        yield from ("", "Parameters, for --set:")
        for one in shown["parameters"]:
            allowed = f"   [{one['range']}]" if one["range"] else ""
            yield f"  {one['key']} = {one['default']}{allowed}"
            if one["help"]:
                yield f"      {one['help']}"
    yield from ("", "Sends and remembers, beside the model:")
    yield from (f"  {line}" for line in shown["traffic"] or ["nothing"])
    yield from ("", "Combine it:")
    yield f"  with {', '.join(shown['combines_with']) or 'nothing'}"
    yield f"  {shown['example']}"
    for paper in shown["papers"]:
        yield from ("", "Paper:", f"  {paper['cited']}")
        yield from (f"  {line}" for line in (paper.get("link"), *paper.get("bibtex", "").splitlines()) if line)
