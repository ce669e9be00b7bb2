"""Every preset is a run that `fedloom run --preset` accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from fl_config.toml import read_toml
from fl_runs.plan import make_plan

PRESETS = sorted((Path(__file__).parents[2] / "fedloom" / "presets").glob("*.toml"))
PAPERS = ("asd", "fedcuau", "feddisco", "fedssa", "fedssg")


def test_every_paper_has_presets() -> None:
    named = {path.stem.split("-")[0] for path in PRESETS}
    assert named == set(PAPERS)


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_preset_is_a_plan_and_says_what_it_is(path: Path) -> None:
    values = read_toml(path)
    plan = make_plan(values)
    assert {key: value for key, value in plan.complete().items() if key in values} == values
    assert path.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("path", PRESETS[:1], ids=lambda path: path.stem)
def test_a_preset_with_a_misspelt_key_would_be_refused(path: Path) -> None:
    with pytest.raises(ConfigError, match="roundz"):
        make_plan({**read_toml(path), "roundz": 3})
