"""Options of a resumed run: what may be given anew, and what may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from fl_config.toml import to_toml
from fl_runs.plan import make_plan
from fl_runs.resume import check_resumed, resumed


@pytest.fixture
def old(tmp_path: Path) -> Path:
    complete = make_plan({"strategy": "feddisco", "rounds": 5, "lr": 0.3, "out": "elsewhere"}).complete()
    (tmp_path / "config.toml").write_text(to_toml(complete), encoding="utf-8")
    return tmp_path


def test_the_old_options_are_kept_and_the_free_ones_may_change(old: Path) -> None:
    given = {"resume": str(old), "rounds": 9, "engine": "inline"}
    config = resumed(given)
    assert (config["strategy"], config["lr"], config["disco.a"]) == ("feddisco", 0.3, 0.5)
    assert (config["rounds"], config["engine"], config["out"], config["resume"]) == (9, "inline", str(old), str(old))
    assert resumed({**given, "lr": 0.3}) == config


@pytest.mark.parametrize(("key", "value"), [("lr", 0.1), ("strategy", "fedavg"), ("disco.a", 0.4), ("seed", 3)])
def test_what_would_change_the_numbers_is_refused_by_name(old: Path, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"keeps its options, but '{key}' is .* and {value!r} was given"):
        resumed({"resume": str(old), key: value})


def test_a_submitted_run_is_compared_as_a_whole(old: Path) -> None:
    same = {"strategy": "feddisco", "rounds": 7, "lr": 0.3, "resume": str(old), "out": str(old)}
    check_resumed(make_plan(same))
    with pytest.raises(ConfigError, match=r"'lr' is 0\.3 in .* and 0\.05 was given"):
        check_resumed(make_plan({key: value for key, value in same.items() if key != "lr"}))


def test_a_folder_without_a_run_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no run to resume in .*: it has no config\.toml"):
        resumed({"resume": str(tmp_path)})
