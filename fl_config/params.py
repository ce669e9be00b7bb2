"""The parameters of a part, declared where the part lives: one pydantic class with a default, a range and a help text each."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Params(BaseModel):
    """Base of every part's parameters; unknown names, infinity and NaN are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
