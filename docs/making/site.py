"""The pages that follow from the code, written before Sphinx reads: cards, commands, Python names and presets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
COMMANDS = re.compile(r'<div class="highlight-sh .*?</pre>', re.DOTALL)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
BEGIN, END = "<!-- begin of the methods, written by `make docs` -->", "<!-- end of the methods -->"


def generated() -> dict[str, str]:
    """Every generated file by its path in docs/. The cards are also kept in the repository, where people read them."""
    from docs.making import cards, reference

    return {**cards.pages(), **reference.pages()}


def readme(text: str) -> str:
    """The README with its table of methods as it should be."""
    from docs.making import cards

    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{cards.readme_table()}\n{END}{rest.partition(END)[2]}"


def write(folder: Path = DOCS) -> None:
    files = generated()
    for gone in [page for page in (folder / "methods").glob("*.md") if f"methods/{page.name}" not in files]:
        gone.unlink()
    front = folder.parent / "README.md"
    files[f"../{front.name}"] = readme(front.read_text(encoding="utf-8"))
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def as_code(app: Sphinx, tree: nodes.document) -> None:
    """A link into the source tree is for those who read in the repository; on the site it is the file's name."""
    from sphinx.addnodes import download_reference

    for link in list(tree.findall(download_reference)):
        link.replace_self(nodes.literal("", link.astext()))


def whole_flags(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """A command that wraps does so between its words: browsers would also break a flag behind its dashes."""
    if "body" in context:
        context["body"] = COMMANDS.sub(
            lambda block: FLAG.sub(r'<span class="flag">\g<0></span>', block[0]), context["body"]
        )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", lambda app: write(Path(app.srcdir)))
    app.connect("doctree-read", as_code, priority=400)  # before Sphinx copies what a page offers for download
    app.connect("html-page-context", whole_flags)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    write()
