"""A picture as plain data: plots with axes and marks, which the page's own script draws as SVG (browser/*.js).

Python says what is shown and the script how wide it is, so that one description serves the report, the dashboard, a phone and a
printed page. Names and texts are plain text; the script never reads them as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

Unit = Literal["number", "share", "round", "name"]
Number = float | int | None


@dataclass
class Axis:
    """One side of a plot. `names` make it an axis of places in this order; the ends follow from the marks unless they are given."""

    title: str = ""
    unit: Unit = "number"
    names: list[Any] | None = None
    low: float | None = None
    high: float | None = None
    from_zero: bool = False
    labelled: bool = True
    grid: bool = True


@dataclass
class Look:
    """How a mark is told apart: `group` is the place of a configuration in the page's key, None for what is none."""

    name: str = ""
    colour: str = "#8c96a8"
    dash: str = "solid"
    symbol: str = "circle"
    group: int | None = None
    told: bool = True  # in the legend


@dataclass
class Line:
    """`spread` is a band to either side; stacked lines are filled and stand on each other; stepped ones go across, then up."""

    look: Look
    x: list[Number]
    y: list[Number]
    spread: list[float] | None = None
    stepped: bool = False
    stacked: bool = False
    dotted: bool = False
    hover: str = ""
    kind: Literal["line"] = "line"


@dataclass
class Bars:
    look: Look
    x: list[Any]
    y: list[Any]
    spread: list[Number] | None = None
    widths: list[float] | None = None
    notes: list[Any] | None = None
    hover: str = ""
    kind: Literal["bars"] = "bars"


@dataclass
class Dots:
    """`sizes` are radii; `shades` are numbers on the figure's scale of shades; the dots at `named` are labelled in the plot."""

    look: Look
    x: list[Any]
    y: list[Any]
    spread: list[Number] | None = None
    notes: list[Any] | None = None
    details: list[str] | None = None  # one more line each, for the pointer only
    sizes: list[float] | None = None
    shades: list[Number] | None = None
    named: list[int] = field(default_factory=list)
    hover: str = ""
    kind: Literal["dots"] = "dots"


@dataclass
class Cells:
    """A map: rows of values on the figure's scale of shades, None where there is nothing."""

    values: list[list[Number]]
    hover: str
    notes: list[list[Any]] | None = None
    texts: list[list[str]] | None = None
    gaps: bool = False
    kind: Literal["cells"] = "cells"


Mark = Line | Bars | Dots | Cells


@dataclass
class Shades:
    """What the shades of a map mean; `ticks` are (place on the scale, text) where the scale is not linear."""

    title: str
    low: float
    high: float
    unit: Unit = "number"
    ticks: list[tuple[float, str]] | None = None


@dataclass
class Plot:
    x: Axis
    y: Axis
    marks: list[Mark] = field(default_factory=list)
    share: float = 1.0  # of the figure's height
    note: str = ""
    across: bool = False  # bars lie
    stacked: bool = False  # bars of one place stand on each other, not beside


@dataclass
class Figure:
    """Plots one above the other over one x axis. `hover` tells of everything at one x, or of the mark under the pointer."""

    plots: list[Plot]
    height: int = 360
    hover: Literal["column", "mark"] = "mark"
    shades: Shades | None = None
    legend: bool = False

    @property
    def plot(self) -> Plot:
        return self.plots[0]

    @property
    def marks(self) -> list[Any]:
        return [mark for plot in self.plots for mark in plot.marks]


def plain(value: Any) -> Any:
    """The description as JSON has it, without what there is not; the numbers of a map become lines of text, which takes a fifth of
    the room where most of it is blank."""
    if isinstance(value, Cells):
        rows = [",".join(map(_cell, row)) for row in value.values]
        rest = {name.name: getattr(value, name.name) for name in fields(value) if name.name != "values"}
        return {"rows": rows} | {name: one for name, one in rest.items() if one is not None}
    if is_dataclass(value):
        named = {one.name: getattr(value, one.name) for one in fields(value)}
        return {name: plain(one) for name, one in named.items() if one is not None and one != []}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def _cell(value: Number) -> str:
    """Three digits: a shade shows no more, and a page of many runs holds a hundred thousand of them."""
    return "" if value is None else f"{value:.3g}".removeprefix("0") or "0"


def lines_plot(x: str, y: str, unit: Unit = "number", **axis: Any) -> Plot:
    """An empty plot over the rounds."""
    return Plot(Axis(x, "round", grid=False), Axis(y, unit, **axis))


def names_axis(title: str, names: Sequence[Any], **axis: Any) -> Axis:
    return Axis(title, "name", names=[str(name) for name in names], grid=False, **axis)
