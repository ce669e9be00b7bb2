"""Pictures as JSON: complete, compact, and without what there is not."""

from __future__ import annotations

import json

from simulation.report.pictures.figure import Axis, Cells, Figure, Line, Look, Plot, Shades, lines_plot, plain


def test_a_figure_is_plain_json_without_what_there_is_not() -> None:
    plot = lines_plot("Round", "Accuracy", "share")
    plot.marks.append(Line(Look("<b>", "#000000", group=0), [0, 1], [0.5, None]))
    told = plain(Figure([plot], hover="column"))
    assert json.loads(json.dumps(told)) == told
    (line,) = told["plots"][0]["marks"]
    assert (line["kind"], line["x"], line["y"], line["look"]["name"]) == ("line", [0, 1], [0.5, None], "<b>")
    assert "spread" not in line and "shades" not in told and "low" not in told["plots"][0]["y"]
    assert told["plots"][0]["x"]["grid"] is False


def test_the_numbers_of_a_map_are_lines_of_text_with_nothing_where_there_is_none() -> None:
    cells = Cells([[0.123456, None, 0.0], [1.0, 20000.0, None]], "{z}")
    told = plain(Figure([Plot(Axis(names=[1, 2, 3]), Axis(names=["a", "b"]), [cells])], shades=Shades("n", 0, 1)))
    (mark,) = told["plots"][0]["marks"]
    assert mark == {"rows": [".123,,0", "1,2e+04,"], "hover": "{z}", "gaps": False, "kind": "cells"}
