"""Equations as MathML, made while the site is built, so that a page needs neither a script nor the network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import SphinxError


def inline(self: Any, node: nodes.Element) -> None:
    self.body.append(typeset(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<div class="math">{typeset(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def typeset(latex: str, as_block: bool = False) -> str:
    """MathML of an equation; a page whose equation is no LaTeX ends the build."""
    try:
        return str(tex2mathml(latex, as_block=as_block))
    except MathError as error:
        raise SphinxError(f"This equation cannot be typeset ({error}): {latex}") from error


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
