"""A run that is submitted for private data is checked as far as the server can: its own data and target."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_runs.plan import make_plan


@pytest.mark.parametrize("wrong", [{"dataset": "nonsense"}, {"target": "nonsense"}])
def test_the_servers_own_files_are_checked_before_hosts_are_asked(wrong: dict[str, str]) -> None:
    make_plan({"partition": "private", "dataset": "digits"})
    with pytest.raises(ConfigError, match="nonsense"):
        make_plan({"partition": "private", "dataset": "digits", **wrong})
