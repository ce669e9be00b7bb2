"""The dashboard's pages: the list, one or several runs in the report's own pictures, and sentences where something cannot be shown."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from fl_config.errors import ConfigError
from fl_runs.reading import RunFolderError, read_runs
from simulation.dashboard.glance import SHOWN_FILES, glance, signature
from simulation.dashboard.listing import Entry, Listing
from simulation.dashboard.progress_line import Status, status_of
from simulation.report.page import RECORD_ERRORS, Frame, embed, filled, page_style, policy_of, render
from simulation.report.panel import Panel

log = logging.getLogger("fedloom")

BROWSER = Path(__file__).parent / "browser"
KEPT = 8  # rendered pages, for several readers of one state
ABSENT = "absent"


class Pages:
    def __init__(self, listing: Listing, shown: str) -> None:
        self.listing = listing
        self.shown = shown  # the folder as its user named it
        self._rendered: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(BROWSER),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    # The list

    def rows(self) -> tuple[str, list[dict[str, Any]]]:
        """The rows of the list, and a token that changes when they do."""
        rows = [entry.row() for entry in self.listing.entries().values()]
        return token_of(rows), rows

    def runs_page(self) -> str:
        token, rows = self.rows()
        scripts = [RECORD_ERRORS, f"(() => {{\n{_text('runs.js')}}})();\n"]
        return self._templates.get_template("runs.html").render(
            token=token,
            policy=policy_of(scripts, live=True),
            style=Markup(page_style() + _text("dashboard.css") + _text("runs.css")),
            scripts=[Markup(script) for script in scripts],
            rows=embed(rows),
            folder=self.shown,
        )

    # Runs

    def view_token(self, ids: Sequence[str]) -> str:
        """A token of the files and states that a page of these runs shows."""
        entries = self.listing.entries()
        chosen = [entries.get(id) for id in ids]
        if not any(chosen):
            return ABSENT
        shown = [
            [one.id, one.state, [signature(folder, SHOWN_FILES) for folder in one.folders]] if one else None
            for one in chosen
        ]
        return token_of(shown)

    def view(self, ids: Sequence[str]) -> tuple[int, str]:
        """The status code and the page of these runs, or of a sentence that says why there is none."""
        entries = self.listing.entries()
        chosen = [entries[id] for id in ids if id in entries]
        if not chosen:
            named = ", ".join(ids) or "nothing"
            said = f"There is no run {named} in {self.shown}; if it is about to begin, it appears here by itself."
            return 404, self.sentence("Not here", said, ABSENT)
        token = self.view_token(ids)
        key = (token, *ids)
        if key not in self._rendered:
            code, page = self._view(chosen, token)
            if code != 200:
                return code, page
            self._rendered[key] = page
            while len(self._rendered) > KEPT:
                self._rendered.popitem(last=False)
        return 200, self._rendered[key]

    def _view(self, chosen: Sequence[Entry], token: str) -> tuple[int, str]:
        folders = list(dict.fromkeys(folder for entry in chosen for folder in entry.folders))
        if not folders:
            return 200, self.sentence(chosen[0].strategy, chosen[0].problem or "There is no run in it yet.", token)
        try:
            runs = read_runs(folders)
            states = [glance(folder).state for folder in folders]
            problem = next((entry.problem for entry in chosen if entry.problem), "")
            title = chosen[0].id if len(chosen) == 1 and chosen[0].kind == "sweep" else None
            return 200, render(runs, title, frame=self._frame(status_of(runs, states, problem), token))
        except (RunFolderError, ConfigError) as error:
            return 200, self.sentence("This cannot be shown", str(error), token)
        except OSError as error:
            said = f"{error.filename or 'A file'} cannot be read ({error.strerror}): it may just have been removed."
            return 200, self.sentence("This cannot be shown", said, token)
        except Exception as error:
            # Records come from anywhere, and one odd value must not cost the reader a page with a sentence.
            log.exception("the dashboard could not draw %s", ", ".join(map(str, folders)))
            said = (
                f"The records of {', '.join(one.id for one in chosen)} hold something that cannot be drawn ({error})."
            )
            return 200, self.sentence("This cannot be shown", said, token)

    def sentence(self, title: str, text: str, token: str) -> str:
        return filled([("What happened", Panel(text))], self._frame(None, token), title=title)

    def _frame(self, status: Status | None, token: str) -> Frame:
        above = Markup(self._templates.get_template("above.html").render(status=status))
        return Frame(above, _text("dashboard.css"), _text("live.js"), token)


def token_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _text(name: str) -> str:
    return (BROWSER / name).read_text(encoding="utf-8")
