"""Cards: every base and every part has one, made of what it declares; also one of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedloom.cli.main import main
from fedloom.cli.methods.card import card, lines
from fl_config.papers import PAPERS
from fl_strategies.bases import BASES
from fl_strategies.parts import PARTS
from fl_strategies.recipes import parse

WITHOUT_A_PAPER = {"local", "shared", "uniform"}


@pytest.mark.parametrize("name", sorted({*BASES, *PARTS}))
def test_every_base_and_every_part_has_a_card(name: str) -> None:
    shown = card(name)
    text = "\n".join(lines(shown))
    assert text.startswith(f"{name}: ") and "Combine it:" in text
    command, _, expression = shown["example"].rpartition(" ")
    assert command == "fedloom run --strategy" and parse(expression)
    assert len("".join(shown["equations"])) > 40
    assert (shown["papers"] == []) == (name in WITHOUT_A_PAPER)
    for paper in shown["papers"]:
        assert paper["bibtex"].startswith("@") and paper["bibtex"] in text.replace("\n  ", "\n")
        assert paper["link"] in text


def test_a_part_of_ours_names_its_paper_by_a_key() -> None:
    assert {part.paper for part in PARTS.values() if " " not in part.paper} - {""} <= PAPERS.keys()


def test_a_card_says_what_the_parts_say() -> None:
    text = "\n".join(lines(card("feddyn+disco")))
    for words in (
        "fills drift (dyn), weighting (disco)",
        "gradient   grad l(theta) + alpha_i (theta - omega + h_i)",
        "p_k = ReLU(n_k - a d_k + b)",
        "disco.a = 0.5   [at least 0]",
        "disco.metric = kl   [kl, l1, l2, cosine]",
        "dyn: clients remember something between rounds",
        "disco: clients answer once, with one number each: discrepancy",
        "https://arxiv.org/abs/2111.04263",
        "https://arxiv.org/abs/2305.19229",
    ):
        assert words in text, words
    assert card("ssa")["combines_with"][0] == "fedavg" and "fedcuau" not in card("ssa")["combines_with"]
    assert "disco" not in card("feddisco")["combines_with"] and "ssa" not in card("feddisco")["combines_with"]
    assert card("asd")["parameters"][0]["range"] == "at least 0, or auto"
    assert "scaffold: clients send delta_c, as large as the model" in card("scaffold")["traffic"]
    assert card("cuau")["traffic"] == [
        "cuau: clients get and send several models, or parts of them",
        "cuau: needs a last fully connected layer",
    ]
    assert card("fedavg")["traffic"] == []


OWN = """{top}
from fedloom import Objective, Params, part

@part("{name}", slot="objective", what="+ mu |theta - omega|_1", paper="Us, 2026")
class Mine(Objective):
    remembers = True
    class Params(Params):
        mu: float = 0.01
"""


@pytest.mark.usefixtures("own_parts")
def test_a_part_of_ones_own_has_a_card(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text(OWN.format(name="toldcard", top='"""L = CE + mu |theta - omega|_1"""'))
    (tmp_path / "terse.py").write_text(OWN.format(name="tersecard", top=""))
    plugins = [word for name in ("told", "terse") for word in ("--plugin", str(tmp_path / f"{name}.py"))]
    assert main(["strategies", *plugins, "toldcard", "tersecard"]) == 0
    first, second = capsys.readouterr().out.split("=" * 80)
    assert first.startswith("toldcard: + mu |theta - omega|_1\n  fills objective (toldcard)\n\n  L = CE + mu")
    assert "toldcard.mu = 0.01" in first and "Paper:\n  Us, 2026\n" in first
    assert "toldcard: clients remember something between rounds" in first
    assert "fedloom run --strategy fedavg+toldcard" in first
    assert "\n\n  + mu |theta - omega|_1\n" in second
