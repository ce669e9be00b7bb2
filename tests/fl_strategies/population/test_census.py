"""What a simulation knows of its clients beforehand: answers are computed for whom they are looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fl_strategies.population.census import Census, Foretold


def test_answers_are_computed_when_they_are_first_looked_up() -> None:
    computed: list[tuple[int, str]] = []

    def answer(client: int, name: str, arguments: dict[str, Any]) -> float:
        computed.append((client, name))
        return client + arguments["plus"]

    census = Census(("a", "b", "c"), 10, np.array([5, 6, 7]), answer)
    assert census.nodes == range(10, 13)
    foretold = Foretold(census, {"gap": {"plus": 0.5}}, dict(zip(census.ids, census.nodes, strict=True)))
    assert len(foretold) == 3 and list(foretold) == ["a", "b", "c"] and "c" in foretold and "d" not in foretold
    assert not computed
    assert foretold["c"] == foretold.get("c") == {"gap": 2.5} and foretold.get("d", {}) == {}
    assert computed == [(2, "gap")]
    with pytest.raises(KeyError):
        foretold["d"]
