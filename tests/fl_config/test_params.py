"""Parameters of a part: unknown names and endless numbers are refused, values do not change."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from fl_config.params import Params


class Strength(Params):
    mu: float = 0.1


def test_unknown_names_are_refused_and_values_are_fixed() -> None:
    given = Strength(mu=0.5)
    with pytest.raises(ValidationError, match="nu"):
        Strength(nu=1)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="frozen"):
        given.mu = 0.6  # type: ignore[misc]
    assert given == Strength(mu=0.5) and hash(given) == hash(Strength(mu=0.5))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), "inf", "nan"])
def test_a_number_must_be_finite(value: float | str) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Strength(mu=value)  # type: ignore[arg-type]
