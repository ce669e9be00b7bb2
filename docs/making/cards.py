"""A page for every method: its card (fedloom/cli/methods/card.py) as Markdown, with the equation typeset and a curve beside FedAvg's."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from docs.making import learning_curves as curves
from docs.making.prose import as_markdown
from fedloom.cli.methods import card
from fl_config.errors import ConfigError
from fl_config.parts import SLOTS
from fl_strategies.bases import BASES
from fl_strategies.parts import PARTS
from fl_strategies.recipes import plugins, refusal

FEDAVG = "fedavg"
SLOT_WORDS = {
    "topology": "Topology: who shares what with whom",
    "drift": "Drift correction, on clients and server",
    "weighting": "Weights of the clients",
    "normaliser": "Normaliser of the updates",
    "server optimizer": "Server optimiser",
    "polish": "After the average",
    "objective": "Terms of the client's loss",
    "optimizer": "Local optimiser",
}


def page_names() -> list[str]:
    """One page for each base; a part that makes no base of its own has a page, too."""
    made = {part for base in BASES for part in parts_of(base)}
    return [*BASES, *(name for name in PARTS if name not in made and name not in BASES)]


@functools.cache
def parts_of(name: str) -> list[str]:
    """The parts that a page is about; FedAvg is what a method is without any: weights by size, one model for all."""
    return ["size", "shared"] if name == FEDAVG else list(card.card(name)["slots"])


def page_of(part: str) -> str:
    """Where a part is described: on the page of the base that it makes, if there is one."""
    return next((name for name in BASES if part in parts_of(name)), part)


def expression_of(name: str) -> str:
    """The strategy whose curve a page shows."""
    if name in BASES:
        return name
    return f"{FEDAVG}+{name}" if PARTS[name].plugin else FEDAVG


def title_of(name: str) -> str:
    return BASES[name].class_name if name in BASES else f"{name} ({PARTS[name].slot})"


def pages() -> dict[str, str]:
    """Every file of the cards by its path in docs/, with its text."""
    fedavg = curves.read(FEDAVG)
    files = {"methods/index.md": index()}
    for name in page_names():
        files[f"methods/{name}.md"] = "\n".join(lines(name))
        files[f"curves/{name}.svg"] = curves.picture(title_of(name), curves.read(name), fedavg)
    return files


def index() -> str:
    rows = [
        "# Methods",
        "",
        "Every method has a card: equation, parameters, traffic, what it combines with, a curve, and its paper.",
        "",
    ]
    for words, names in by_slot().items():
        rows += [f"## {words}", "", "| method | part | what it does | paper |", "|---|---|---|---|"]
        for name in names:
            shown = card.card(name)
            parts = ", ".join(f"`{part}`" for part in parts_of(name))
            rows.append(
                f"| [{title_of(name)}]({name}.md) | {parts} | {_cell(shown['what'])} | {_cell(shown['paper'])} |"
            )
        rows += [""]
    rows += ["```{toctree}", ":hidden:", "", *page_names(), "```", ""]
    return "\n".join(rows)


def readme_table() -> str:
    """The methods by slot, for the README."""
    rows = ["| slot | methods |", "|---|---|"]
    for words, names in by_slot().items():
        rows.append(f"| {words} | {', '.join(f'[{title_of(name)}](docs/methods/{name}.md)' for name in names)} |")
    return "\n".join(rows)


def by_slot() -> dict[str, list[str]]:
    """The pages by what their slot is in words, in the order of the slots."""
    slots = {name: PARTS[parts_of(name)[0]].slot for name in page_names()}
    return {SLOT_WORDS[slot]: [name for name in slots if slots[name] == slot] for slot in SLOTS}


def lines(name: str) -> Iterator[str]:
    shown = card.card(name)
    own = parts_of(name)
    yield from (
        f"# {title_of(name)}",
        "",
        *(f"*{paper['cited']}*" for paper in shown["papers"]),
        "",
        _sentence(shown["what"]),
        "",
    )
    yield from ("```sh", shown["example"], "```", "")
    yield from _place(name, own)
    yield from ("## Equation", "")
    for part in own:
        latex = shown["latex"].get(part) or PARTS[part].equation
        if not latex:
            raise ConfigError(f"The part {part!r} declares no equation: give one to its @part(...), in LaTeX.")
        yield from ("$$", r"\begin{aligned}", *latex.splitlines(), r"\end{aligned}", "$$", "")
    yield "What the letters mean is said in [the concepts](../concepts.md#letters)."
    for text in shown["equations"]:
        yield from ("", *as_markdown(text))
    yield from ("", "## Parameters", "")
    yield from _parameters(shown["parameters"])
    yield from ("## Sends and remembers", "")
    yield from _traffic(name, shown["traffic"])
    yield from ("## Combines with", "")
    yield from _combinations(name, own, shown["combines_with"])
    yield from ("## A small run", "")
    yield from _curve(name)
    for paper in shown["papers"]:
        link = f" <{paper['link']}>" if paper.get("link") else ""
        yield from ("## Paper", "", f"{paper['cited']}.{link}", "", "```bibtex", paper.get("bibtex", ""), "```", "")


def _place(name: str, own: Iterable[str]) -> Iterator[str]:
    yield from ("| | |", "|---|---|")
    if name in BASES:
        yield f"| base | `{name}`, in Python `fl_strategies.{BASES[name].class_name}` |"
    for part in own:
        after = (
            f"may stand after a `+`, as in `{FEDAVG}+{part}`" if PARTS[part].plugin else "is not for use after a `+`"
        )
        yield f"| part | `{part}`, of the slot *{PARTS[part].slot}*; {after} |"
        files = dict.fromkeys(f"{half.__module__.replace('.', '/')}.py" for half in PARTS[part].halves.values())
        yield f"| code | {', '.join(f'`{file}`' for file in files)} |"
    yield ""


def _parameters(parameters: list[Mapping[str, Any]]) -> Iterator[str]:
    if not parameters:
        yield from ("It has none.", "")
        return
    yield from ("Given by `--set`.", "", "| parameter | default | values | what it is |", "|---|---|---|---|")
    for one in parameters:
        yield f"| `{one['key']}` | `{one['default']}` | {_cell(one['range'])} | {_cell(one['help'] or '')} |"
    yield ""


def _traffic(name: str, said: list[str]) -> Iterator[str]:
    yield "The model goes down to the clients of a round and comes back from them. Beside that:"
    yield ""
    yield from (f"- {line.partition(': ')[2]}." for line in said)
    if not said:
        yield "- nothing."
    own, fedavg = curves.read(name), curves.read(FEDAVG)
    yield ""
    beside = "" if name == FEDAVG else f" (FedAvg: {_size(fedavg['bytes_down'])} and {_size(fedavg['bytes_up'])})"
    kept = f"a client keeps {_size(own['bytes_remembered'])}" if own["bytes_remembered"] else "a client keeps nothing"
    yield (
        f"In the runs below one client's last round took {_size(own['bytes_down'])} down and {_size(own['bytes_up'])} up{beside}, "
        f"and between rounds {kept}."
    )
    yield ""


def _combinations(name: str, own: list[str], fitting: list[str]) -> Iterator[str]:
    if name in BASES:
        yield f"After a `+`: {', '.join(_link(part) for part in fitting) or 'nothing'}."
        refused = {part: refusal(f"{name}+{part}") for part in plugins() if part not in fitting}
        if refused:
            yield from ("", "Not with:", "")
            yield from (f"- {_link(part)}: {why}" for part, why in refused.items())
        yield ""
    for part in own:
        if PARTS[part].plugin:
            bases = [base for base in BASES if not refusal(f"{base}+{part}")]
            yield from (f"The part `{part}` goes onto {', '.join(_link(base) for base in bases)}.", "")


def _link(name: str) -> str:
    return f"[`{name}`]({name if name in BASES else page_of(name)}.md)"


def _curve(name: str) -> Iterator[str]:
    own = curves.read(name)
    what = (
        "the global model"
        if curves.shown_metric(own) == curves.GLOBAL
        else "each client's own model on its held-out samples, on average"
    )
    yield f"![Accuracy by round, {title_of(name)} and FedAvg](../curves/{name}.svg)"
    yield ""
    flags = " ".join(f"--{key} {value}" for key, value in own["setting"].items())
    yield (
        f"Accuracy of {what}: mean and range over the seeds {', '.join(map(str, own['seeds']))}, with the parameters above at their "
        "defaults. It shows that the method learns, and what its rounds look like; a ranking takes tuned rates and larger data."
    )
    yield from ("", "<!-- not run: one of the three runs of the picture -->", "```sh")
    yield f"fedloom run --strategy {own['strategy']} {flags} --seed {own['seeds'][0]}"
    yield from ("```", "")


def _size(count: int) -> str:
    return f"{count / 1000:.1f} kB" if count >= 1000 else f"{count} bytes"


def _sentence(text: str) -> str:
    """Words as a sentence, a formula as code."""
    return f"`{text}`" if re.search(r"[=~^+_]", text.split(" and ")[0]) else f"{text[0].upper()}{text[1:]}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
