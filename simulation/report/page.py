"""The report: one self-contained HTML page for one run, or for a comparison of several, that works from file://.

The page loads nothing: its content security policy allows only the scripts that it carries, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from fl_config.files import write_atomically
from fl_runs.reading import Headline, RunRecord, group_runs, read_runs
from simulation.report import facts
from simulation.report.headline import shared_headline
from simulation.report.panel import Panel
from simulation.report.pictures.drawing import colour_of
from simulation.report.pictures.figure import plain
from simulation.report.sections import SECTIONS
from simulation.report.sites import site_headings, sites_of
from simulation.report.table import comparison

BROWSER = Path(__file__).parent / "browser"
SCRIPTS = ("scale.js", "marks.js", "figure.js", "pointer.js", "page.js")  # in the order in which they need each other
MOST_DROPPED = 200
RESULTS = "are the mean over seeds ± the sample standard deviation, where there are several; MB and time are those of a mean run."
TESTED = (
    " The last column is the mean difference of the final figures over the seeds that both have, with the number of these pairs and "
    "the p of a two-sided paired t-test; fewer than three pairs are not tested."
)
RECORD_ERRORS = """
(() => {
  const errors = [];
  const note = (text) => { errors.push(String(text)); document.documentElement.dataset.scriptErrors = JSON.stringify(errors); };
  document.documentElement.dataset.scriptErrors = "[]";
  window.addEventListener("error", (event) => note(event.message || event.type));
  window.addEventListener("unhandledrejection", (event) => note(event.reason));
  document.addEventListener("securitypolicyviolation", (event) => note("blocked: " + event.violatedDirective));
})();
"""


@dataclass(frozen=True)
class Frame:
    """What a dashboard puts around a page: what stands above it, its style, and a script that is one with the page's."""

    above: Markup
    style: str
    script: str
    token: str  # of the state of the files that the page shows


def write_report(folders: Sequence[Path], out: Path, title: str | None = None, baseline: str = "") -> Path:
    """Write the page for these run folders to `out`; a page that is already there is replaced at once or not at all."""
    if not folders:
        raise ValueError("A report needs at least one run folder, but none was given.")
    out = Path(out)
    write_atomically(out, render(read_runs(folders), title, baseline).encode())
    return out


def render(runs: Sequence[RunRecord], title: str | None = None, baseline: str = "", frame: Frame | None = None) -> str:
    """The page as text; the same runs give the same page."""
    groups, table = group_runs(runs), comparison(runs, baseline)
    panels = [(name, build(runs)) for name, build in SECTIONS]
    named = "Accuracies" if shared_headline(runs) == Headline() else "Figures"
    return filled(
        [(panel.title or name, panel) for name, panel in panels if panel is not None],
        frame,
        title=title or facts.title_of(groups),
        subtitle=facts.subtitle_of(runs),
        key=[(group.label, colour_of(i), i) for i, group in enumerate(groups)],
        headline=facts.key_figures(runs),
        headings=table.headings,
        rows=table.cells() if len(runs) > 1 else [],
        numeric=range(2, 7),
        sites=sites_of(runs),
        site_headings=site_headings(runs),
        rows_caption=f"{named} {RESULTS}{TESTED if table.tested else ''}",
        warnings=facts.warnings_of(runs),
        model_of=facts.model_of,
        dropped=facts.dropped_clients(runs),
        differences=facts.differing_settings(groups),
        groups=groups,
        runs=runs,
        versions=facts.versions_of(runs),
    )


def filled(panels: Sequence[tuple[str, Panel]], frame: Frame | None = None, **content: Any) -> str:
    """A page of these sections by their names; what else there may be on it is left out where it is not given."""
    panels = paired_up(panels)
    slots = [[{"label": label, "figure": plain(figure)} for label, figure in p.figures.items()] for _, p in panels]
    scripts = [RECORD_ERRORS, page_script(frame.script if frame else "")]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    nothing: dict[str, Any] = dict.fromkeys(
        ("subtitle key headline rows numeric sites warnings dropped differences groups runs versions").split(), ()
    )
    page = {**nothing, **content}
    return environment.from_string((BROWSER / "page.html").read_text(encoding="utf-8")).render(
        policy=policy_of(scripts, live=frame is not None),
        style=Markup(page_style() + (frame.style if frame else "")),
        frame=frame,
        scripts=[Markup(script) for script in scripts],
        figures=[embed(slot) for slot in slots],
        sections=panels,
        most_dropped=MOST_DROPPED,
        **page,
    )


def paired_up(panels: Sequence[tuple[str, Panel]]) -> list[tuple[str, Panel]]:
    """Narrow panels stand in pairs; one that has no neighbour takes the whole width."""
    arranged: list[tuple[str, Panel]] = []
    waiting = False  # the last one is narrow and stands alone
    for name, panel in panels:
        if panel.wide and waiting:
            arranged[-1] = (arranged[-1][0], replace(arranged[-1][1], wide=True))
        waiting = not panel.wide and not waiting
        arranged.append((name, panel))
    if waiting:
        arranged[-1] = (arranged[-1][0], replace(arranged[-1][1], wide=True))
    return arranged


def page_style() -> str:
    return (BROWSER / "style.css").read_text(encoding="utf-8")


def page_script(more: str = "") -> str:
    """What draws the figures, as one script that leaves no names behind."""
    texts = [*((BROWSER / name).read_text(encoding="utf-8") for name in SCRIPTS), more]
    return "(() => {\n" + "\n".join(texts) + "})();\n"


def embed(value: Any) -> Markup:
    """JSON that cannot end the script element it stands in, whatever text it holds."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def policy_of(scripts: Sequence[str], live: bool = False) -> str:
    """A content security policy under which these scripts run and nothing else does; a live page may ask its own server."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    return "; ".join(
        [
            "default-src 'none'",
            "script-src " + " ".join(f"'sha256-{one}'" for one in hashes),
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
            *(["connect-src 'self'"] if live else []),
        ]
    )
