"""Sentences about wrong values: which key, what was expected, what was given, what was perhaps meant."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator

from fl_config.errors import last_line, nearest, sentences


class Values(BaseModel):
    rate: float = Field(default=1.0, gt=0)
    count: int | bool = 1

    @model_validator(mode="after")
    def together(self) -> Values:
        if self.rate == self.count == 7:
            raise ValueError("The rate must not be the count")
        return self


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"rate": -1}, "Option 'rate': expected greater than 0, but -1 was given."),
        (
            {"count": "x", "rate": 0},
            "Option 'rate': expected greater than 0, but 0 was given.\n"
            "Option 'count': expected a valid integer, unable to parse string as an integer or "
            "a valid boolean, unable to interpret input, but 'x' was given.",
        ),
        ({"rate": 7, "count": 7}, "Option: the rate must not be the count."),
    ],
)
def test_one_line_per_wrong_key(values: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError) as error:
        Values(**values)  # type: ignore[arg-type]
    assert sentences(error.value, "Option") == text


def test_the_nearest_name_is_suggested_where_one_is_near() -> None:
    assert nearest("fedavgg", ["fedprox", "fedavg"]) == "; did you mean 'fedavg'?"
    assert nearest("zzz", ["fedprox", "fedavg"]) == "."


def test_the_last_line_of_an_error_says_what_happened() -> None:
    assert last_line("Traceback\n  File x\nValueError: no GPU\n\n  ") == "ValueError: no GPU"
    assert last_line("x" * 999) == "x" * 300
    assert last_line(None) == last_line(" \n") == "no reason given"
