"""Every declared equation can be typeset, and what is no LaTeX ends the build."""

from __future__ import annotations

import pytest
from sphinx.errors import SphinxError

from docs.making.mathml import typeset
from fl_strategies.bases import BASES
from fl_strategies.parts import PARTS

DECLARED = {**{name: part.equation for name, part in PARTS.items()}, "shares": BASES["fedssa-shares"].equation}


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_a_declared_equation_becomes_mathml(name: str) -> None:
    made = typeset(rf"\begin{{aligned}} {DECLARED[name]} \end{{aligned}}", as_block=True)
    assert made.startswith("<math") and 'display="block"' in made and "<mi>" in made


def test_what_is_no_latex_is_told() -> None:
    with pytest.raises(SphinxError, match=r"cannot be typeset .*nonsense"):
        typeset(r"\nonsense{x}")
