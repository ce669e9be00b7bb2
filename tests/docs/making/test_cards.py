"""Cards as pages: every method has one, with its equation, its parameters and the sentences of the rules; the kept pages are in step."""

from __future__ import annotations

import dataclasses

import pytest

from docs.making import cards, site
from fl_config.errors import ConfigError
from fl_strategies.bases import BASES
from fl_strategies.parts import PARTS


def test_every_base_and_every_part_is_on_a_page() -> None:
    names = cards.page_names()
    assert set(BASES) <= set(names) and len(names) == len(set(names))
    assert {part for name in names for part in cards.parts_of(name)} == set(PARTS)
    assert sum(map(len, cards.by_slot().values())) == len(names)


def test_a_page_says_what_the_declaration_says() -> None:
    text = "\n".join(cards.lines("feddyn"))
    for words in (
        r"g &= \nabla \ell(\theta) + \alpha_i \, (\theta - \omega + h_i)",
        "| `dyn.alpha` | `0.01` | at least 0 |",
        "`clients/objectives/dyn.py`, `fl_strategies/server_update/dyn.py`",
        "- [`cuau`](fedcuau.md): The strategy 'feddyn+cuau' has no meaning",
        "[`disco`](feddisco.md)",
        "![Accuracy by round, FedDyn and FedAvg](../curves/feddyn.svg)",
        "@inproceedings{feddyn,",
    ):
        assert words in text, words


def test_a_part_without_an_equation_has_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dataclasses.replace(PARTS["prox"], equation="")
    monkeypatch.setattr(cards, "PARTS", {**PARTS, "prox": bare})
    monkeypatch.setattr("fedloom.cli.methods.card.PARTS", {**PARTS, "prox": bare})
    with pytest.raises(ConfigError, match="'prox' declares no equation"):
        list(cards.lines("fedprox"))


def test_the_pages_that_are_kept_are_those_of_the_code() -> None:
    """`make docs` writes them."""
    for name, text in cards.pages().items():
        assert (site.DOCS / name).read_text(encoding="utf-8") == text, f"docs/{name} is not in step: run `make docs`"
    kept = {f"methods/{page.name}" for page in (site.DOCS / "methods").glob("*.md")}
    assert kept == {name for name in cards.pages() if name.startswith("methods/")}
    front = (site.DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert site.readme(front) == front, "the README's table of methods is not in step: run `make docs`"
