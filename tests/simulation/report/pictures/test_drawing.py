"""The palette can be seen on both pages and by all eyes."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import simulation.report
from simulation.report.pictures.drawing import PALETTE


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dim, bright = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) + 0.05 for colour in (one, other))
    return bright / dim


@pytest.mark.parametrize("page", ["#ffffff", "#15181d"])
def test_curves_stand_out_from_the_light_and_the_dark_card(page: str) -> None:
    assert page in (Path(simulation.report.__file__).parent / "browser" / "style.css").read_text()
    assert min(contrast(colour, page) for colour in PALETTE) >= 3.0


def test_colours_differ_for_red_and_green_blind_eyes() -> None:
    # Simulation of full protanopia and deuteranopia in linear RGB (Machado, Oliveira and Fernandes, 2009).
    protan = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    deutan = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    for sight in (np.eye(3), np.array(protan), np.array(deutan)):
        points = []
        for colour in PALETTE:
            x, y, z = np.cbrt(to_xyz @ np.clip(sight @ linear(colour), 0, 1) / [0.9505, 1, 1.089])
            points.append(np.array([116 * y, 500 * (x - y), 200 * (y - z)]))
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2)) > 15
