"""Sentences about wrong values: which key, what was expected, what was given, what was perhaps meant."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator

from fl_config.errors import last_line, nearest, sentences, trouble
from fl_config.options import FLAGS
from fl_config.synonyms import SYNONYMS
from fl_data.catalog import CATALOG
from fl_data.partitions.schemes import SCHEMES
from fl_strategies.recipes import BASES, plugins


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


def test_a_comma_stands_before_a_key_only() -> None:
    with pytest.raises(ValidationError) as one:
        Values(rate=-1)
    assert (
        sentences(one.value, "Parameter of 'x',")
        == "Parameter of 'x', 'rate': expected greater than 0, but -1 was given."
    )
    with pytest.raises(ValidationError) as both:
        Values(rate=7, count=7)
    assert sentences(both.value, "Parameter of 'x',") == "Parameter of 'x': the rate must not be the count."


def test_the_nearest_name_is_suggested_where_one_is_near() -> None:
    assert nearest("fedavgg", ["fedprox", "fedavg"]) == "; did you mean 'fedavg'?"
    assert nearest("zzz", ["fedprox", "fedavg"]) == "."
    assert nearest("--batch_size", ["--batch-size", "--lr"]) == "; did you mean '--batch-size'?"
    assert nearest("FashionMNIST", ["mnist", "fashion-mnist"]) == "; did you mean 'fashion-mnist'?"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--learning-rate", "--lr"),
        ("--num_clients", "--clients"),
        ("--local-epochs", "--epochs"),
        ("--batch", "--batch-size"),
        ("--num-rounds", "--rounds"),
        ("--algorithm", "--strategy"),
        ("--method", "--strategy"),
        ("--data", "--dataset"),
        ("--alpha", "--partition dirichlet:0.5"),
        ("--gpu", "--device cuda"),
    ],
)
def test_a_synonym_of_a_flag_is_known(given: str, meant: str) -> None:
    assert nearest(given, [f"--{name}" for name in [*FLAGS, "dp-data"]]) == f"; did you mean {meant!r}?"


def test_every_synonym_means_something_that_there_is() -> None:
    known = {*FLAGS, "set", *CATALOG, *SCHEMES, *BASES, *plugins()}
    meant = {word.partition(" ")[0] for word in SYNONYMS.values()}
    assert meant <= known


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOSPC, "No space left", "a/b"), "a/b cannot be used (No space left): make room on the disk."),
        (
            OSError(errno.EXDEV, "Cross-device link", "a", None, Path("b")),
            "b cannot be used (Cross-device link): see to it, then give the command again.",
        ),
        (OSError("odd."), "The system refused something (odd): see to it, then give the command again."),
        (
            PermissionError(errno.EACCES, "Permission denied", 3),
            "The system refused something (Permission denied): "
            "choose a place that you may use, or have its permissions changed.",
        ),
    ],
)
def test_what_the_system_would_not_do_is_a_sentence(error: OSError, text: str) -> None:
    assert trouble(error) == text


def test_the_last_line_of_an_error_says_what_happened() -> None:
    assert last_line("Traceback\n  File x\nValueError: no GPU\n\n  ") == "ValueError: no GPU"
    assert last_line("x" * 999) == "x" * 300
    assert last_line(None) == last_line(" \n") == "no reason given"
