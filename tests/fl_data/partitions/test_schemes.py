"""How a `--partition` is read by what was declared, and a sentence for every mistake."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_data import check_partition_spec


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("dirichelt:0.5", "did you mean dirichlet:BETA"),
        ("zzzz", "known are iid"),
        ("dirichlet", "form"),
        ("dirichlet:0", "above 0"),
        ("dirichlet:nan", "above 0"),
        ("lda:-1", "above 0"),
        ("lda:a", "above 0"),
        ("iid:3", "form"),
        ("iid:", "form"),
        ("shards:1.5", "whole"),
        ("shards:0", "1 or more"),
        ("biased:5", "biased:B:U"),
        ("biased:0:3", "B must be"),
        ("mixed:1,,2", "ALPHA"),
        ("longtail:50", "does not divide"),
        ("longtail:0.5,iid", "RHO"),
        ("longtail:50,longtail:2,iid", "unknown"),
        ("file:/nowhere/at/all.json", "exists"),
        ("", "unknown"),
    ],
)
def test_wrong_specs_are_sentences(spec: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check_partition_spec(spec)
