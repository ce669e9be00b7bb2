"""The names in an expression, known without importing a part."""

from __future__ import annotations

from typing import Any

import pytest

from fl_config.errors import ConfigError
from fl_strategies.bases import BASES, check_names, check_names_early
from fl_strategies.parts import PARTS, parts_on_disk
from fl_strategies.recipes import plugins


def test_the_source_tells_the_plugins_that_declare_themselves() -> None:
    assert parts_on_disk() == {name: part.plugin for name, part in PARTS.items()}
    assert {name for name, plugin in parts_on_disk().items() if plugin} == set(plugins())


def test_names_are_split_and_checked() -> None:
    assert check_names(" FedDyn + Disco ", ["disco"]) == ["feddyn", "disco"]
    for expression, told in {"feddin": "no strategy 'feddin'", "fedavg+disk": "no plug-in 'disk'"}.items():
        with pytest.raises(ConfigError, match=told):
            check_names(expression, ["disco"])
        with pytest.raises(ConfigError, match=told):
            check_names_early(expression)


def test_where_there_are_plugins_of_ones_own_only_the_base_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    check_names_early("fedavg+mine", own_plugins=True)
    with pytest.raises(ConfigError, match="no strategy 'mine'"):
        check_names_early("mine+disco", own_plugins=True)
    installed: list[Any] = ["one"]
    monkeypatch.setattr("fl_strategies.bases.installed_plugins", lambda: installed)
    check_names_early("fedavg+mine")
    installed.clear()
    with pytest.raises(ConfigError, match="no plug-in 'mine'"):
        check_names_early("fedavg+mine")
    monkeypatch.setattr("fl_strategies.bases.parts_on_disk", dict)  # an installation without source
    check_names_early("fedavg+mine")


def test_every_base_names_itself() -> None:
    for name in BASES:
        check_names_early(name)
