"""The curves of the cards are those of runs: kept with their setting, one of them made again here, and drawn where they belong."""

from __future__ import annotations

import re

import pytest

from docs.making import cards
from docs.making import learning_curves as curves


def test_every_page_has_the_curve_of_its_strategy_in_the_setting_of_all() -> None:
    for name in cards.page_names():
        kept = curves.read(name)
        assert kept["strategy"] == cards.expression_of(name)
        assert (kept["setting"], kept["seeds"]) == (curves.SETTING, list(curves.SEEDS)), f"{name}: `make cards` anew"
        shown = kept["curves"][curves.shown_metric(kept)]
        assert len(shown["mean"]) == curves.SETTING["rounds"] + 1
        assert all(
            low <= mean <= high
            for low, mean, high in zip(shown["low"], shown["mean"], shown["high"], strict=True)
            if mean
        )


def test_a_kept_curve_is_that_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "SETTING", {**curves.SETTING, "rounds": 3})
    monkeypatch.setattr(curves, "SEEDS", (1, 2, 3))
    made, kept = curves.measure("scaffold"), curves.read("scaffold")
    for name, line in made["curves"].items():
        assert line["mean"] == pytest.approx(kept["curves"][name]["mean"][:4], abs=0.02), name
    assert (made["bytes_up"], made["bytes_remembered"]) == (kept["bytes_up"], kept["bytes_remembered"])


def test_a_picture_has_both_curves_at_their_places() -> None:
    line = {"mean": [0.0, 0.5, 1.0], "low": [0.0, 0.4, 0.9], "high": [0.0, 0.6, 1.0]}
    base = {"strategy": "fedavg", "curves": {curves.GLOBAL: line}}
    own = {"strategy": "feddyn", "curves": {curves.GLOBAL: {name: values[::-1] for name, values in line.items()}}}
    drawn = curves.picture("FedDyn", own, base)
    lines = re.findall(r'<polyline points="([^"]+)"', drawn)
    assert lines[0] == "48.0,260.0 338.0,145.0 628.0,30.0" and lines[1] == "48.0,30.0 338.0,145.0 628.0,260.0"
    assert ">FedDyn</text>" in drawn and ">FedAvg</text>" in drawn
    assert curves.picture("FedAvg", base, base).count("<polyline") == 1
