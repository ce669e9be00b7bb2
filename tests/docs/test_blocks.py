"""Every block of README and of the pages is executed or says why not, every `fedloom` command in them parses, every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedloom.cli.main import build_parser
from tests.docs.executed_page import DOCS, Block, blocks, commands, execute

pytestmark = pytest.mark.timeout(600)

BY_HAND = ("../README.md", "../CONTRIBUTING.md", *sorted(page.name for page in DOCS.glob("*.md")))
CARDS = sorted(f"methods/{page.name}" for page in (DOCS / "methods").glob("*.md"))
ELSEWHERE = {"own_parts.md", "own_model.md", "python.md", "tasks.md", "data.md"}  # test_own_pages.py says what they do
ELSEWHERE |= {"deployment.md"}  # test_deployment_page.py starts a federation for it
LANGUAGES = {
    "python",
    "sh",
    "text",
    "toml",
    "json",
    "",
    "{toctree}",
    "{include} ../CHANGELOG.md",
    "{include} ../CONTRIBUTING.md",
}
MOST_NOT_RUN = 7  # beside the cards, whose runs are those of the curves


def not_run(block: Block) -> bool:
    return block.marker == "not run" or (block.language == "" and bool(commands(block)))


@pytest.mark.parametrize(
    "page", [page for page in BY_HAND if page not in ELSEWHERE and any(b.runs for b in blocks(page))]
)
def test_every_block_of_the_page_works(page: str, tmp_path: Path) -> None:
    ran = execute(page, tmp_path)
    asked = [words for block in blocks(page) if block.runs for words in commands(block)]
    assert len(ran) == len(asked)


@pytest.mark.parametrize("page", [*BY_HAND, *CARDS])
def test_every_command_is_one(page: str) -> None:
    parser = build_parser()
    for words in [words for block in blocks(page) for words in commands(block)]:
        assert "..." not in words, f"{page}: a command that cannot be copied: {words}"
        parser.parse_args(words)


def test_no_block_is_overlooked() -> None:
    for page in BY_HAND:
        text = (DOCS / page).read_text(encoding="utf-8")
        fences = re.findall(r"^```.*$", text, re.MULTILINE)
        known = blocks(page)
        assert len(fences) == 2 * len(known), f"{page}: a block that is not closed, or not at the margin"
        assert {block.language for block in known} <= LANGUAGES, page
        assert not re.search(r"^<!-- (?!short|goes on|not run|begin|end)", text, re.MULTILINE), (
            f"{page}: an unknown remark"
        )
        markers = re.findall(r"^<!-- (?:short|goes on|not run): ", text, re.MULTILINE)
        assert len(markers) == len([block for block in known if block.marker]), f"{page}: a remark without a block"
        assert not re.search(r"^    (?:fedloom|\$) ", text, re.MULTILINE), f"{page}: commands stand between ``` and ```"


def test_few_blocks_are_not_run() -> None:
    left = [
        (page, block.remark or block.text.splitlines()[0])
        for page in BY_HAND
        for block in blocks(page)
        if not_run(block)
    ]
    assert len(left) <= MOST_NOT_RUN, left
    assert all(len(reason) > 8 for _, reason in left)


@pytest.mark.parametrize("page", [*BY_HAND, *CARDS])
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert "://" in link or (DOCS / page).parent.joinpath(link).exists(), f"{page} links to {link}"
