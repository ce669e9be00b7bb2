"""What each site of a deployed run has said of itself, kept in the run's folder as sites.json; a simulation has no sites.

Which round a site answered in, and when it was left out, is in metrics.jsonl; `fedloom deploy status` reads both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fl_config.files import write_atomically
from fl_runs.reading import SITES
from fl_strategies.round.records import Observer, Record


class SiteBook(Observer):
    """Written anew with every site that introduces itself; a resumed run goes on with the sites it knew."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / SITES

    def joined(self, client: Any, about: Record) -> None:
        if about["site"]:
            known = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}
            known[about["site"]] = {"client": client, **{key: about[key] for key in ("examples", "software", "node")}}
            write_atomically(self.file, (json.dumps(known, indent=2) + "\n").encode())
