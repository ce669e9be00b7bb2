"""What the parameters of FedSSA allow together."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from fl_strategies.weighting.ssa.parameters import OF_SHARES, OF_VIEWS, SsaParams


def test_the_papers_criterion_is_the_default() -> None:
    assert SsaParams().criterion == "views"
    assert {*OF_VIEWS, *OF_SHARES} <= SsaParams.model_fields.keys()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"criterion": "shares", "lr": 0.2}, "lr has no meaning with criterion=shares"),
        ({"criterion": "shares", "n_view_banks": 1}, "n_view_banks has no meaning"),
        ({"shares_prior": 0.1}, "shares_prior has no meaning with criterion=views"),
        ({"shares_trust": 2.0}, "shares_trust has no meaning with criterion=views"),
        ({"shares_fit": 500}, "shares_fit has no meaning with criterion=views"),
        ({"criterion": "shares", "max_samples": 500}, "max_samples has no meaning with criterion=shares"),
        ({"criterion": "shares", "mode": "sample_wise"}, "one sample at a time"),
        ({"criterion": "shares", "shares_prior": 0.0}, "greater than 0"),
        ({"criterion": "shares", "shares_fit": -1}, "greater than or equal to 0"),
        ({"criterion": "shares", "shares_trust": -1.0}, "greater than or equal to 0"),
    ],
)
def test_what_would_be_ignored_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        SsaParams(**given)
