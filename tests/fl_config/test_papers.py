"""How papers are cited, and that links are those of arXiv or the paper's own."""

from __future__ import annotations

import re

import pytest

from fl_config.papers import PAPERS, Paper, cited


def test_a_paper_in_a_few_words_and_as_bibtex() -> None:
    assert cited("fedprox") == "Li et al., MLSys 2020"
    assert cited("fedper") == "Arivazhagan et al., 2019"
    assert cited("Us, 2026") == "Us, 2026"
    two = Paper(("Doe, Jane", "Roe, Richard"), "On Looms", "", 2026)
    assert (two.short, two.link) == ("Doe and Roe, 2026", "")
    assert Paper(("Doe, Jane",), "On Looms", "FL", 2026).short == "Doe, FL 2026"
    assert two.bibtex("loom") == (
        "@misc{loom,\n  author = {Doe, Jane and Roe, Richard},\n  title = {{On Looms}},\n  note = {Preprint},\n"
        "  year = {2026},\n}"
    )
    assert PAPERS["moon"].bibtex("moon") == (
        "@inproceedings{moon,\n  author = {Li, Qinbin and He, Bingsheng and Song, Dawn},\n"
        "  title = {{Model-Contrastive Federated Learning}},\n  booktitle = {CVPR},\n  year = {2021},\n"
        "  eprint = {2103.16257},\n  archiveprefix = {arXiv},\n  url = {https://arxiv.org/abs/2103.16257},\n}"
    )
    assert PAPERS["asd"].bibtex("asd").startswith("@article{asd,\n") and "journal = {TMLR}" in PAPERS["asd"].bibtex(
        "asd"
    )


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_is_whole(key: str) -> None:
    paper = PAPERS[key]
    assert paper.title and 2016 < paper.year < 2027
    assert all("," in author for author in paper.authors) or paper.authors == ("Anonymous",)
    assert re.fullmatch(r"(\d{4}\.\d{5})?", paper.arxiv)
    assert not paper.arxiv or int(paper.arxiv[:2]) + 2000 <= paper.year  # no preprint is younger than its paper


def test_no_two_keys_mean_one_paper() -> None:
    assert len({paper.title for paper in PAPERS.values()}) == len(PAPERS)
