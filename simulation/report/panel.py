"""What a section of the page shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulation.report.pictures.figure import Figure


@dataclass
class Panel:
    """What a section shows: a sentence on how to read it, and one figure, or several to choose from by their labels."""

    caption: str
    figures: dict[str, Figure] = field(default_factory=dict)
    wide: bool = True
    keyed: bool = False  # traces are configurations, so that the page's own key stands for the legend
    title: str = ""  # where it is not the section's own
