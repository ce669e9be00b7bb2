"""The book of sites: every site once, by name, and nothing of a simulation."""

from __future__ import annotations

import json
from pathlib import Path

from fl_runs.tracking.site_book import SiteBook


def test_sites_are_kept_by_name_and_the_last_word_counts(tmp_path: Path) -> None:
    SiteBook(tmp_path).joined("site-a", {"site": "site-a", "examples": 40, "software": "1.0", "node": 7})
    resumed = SiteBook(tmp_path)
    resumed.joined(3, {"site": "site-b", "examples": 20, "software": "1.0", "node": 8})
    resumed.joined("site-a", {"site": "site-a", "examples": 50, "software": "1.1", "node": 9})
    kept = json.loads((tmp_path / "sites.json").read_text())
    assert kept == {
        "site-a": {"client": "site-a", "examples": 50, "software": "1.1", "node": 9},
        "site-b": {"client": 3, "examples": 20, "software": "1.0", "node": 8},
    }


def test_clients_of_a_simulation_are_no_sites(tmp_path: Path) -> None:
    SiteBook(tmp_path).joined(0, {"site": "", "examples": 40, "software": "", "node": 7})
    assert not list(tmp_path.iterdir())
