"""One federation for all tests of this folder. It ends with the last of them: sites that ask for work slow down all tests after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.federation import SITES, Federation

HERE = Path(__file__).parent
RUNNING = pytest.StashKey[Federation]()


@pytest.fixture(scope="session")
def federation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    made = request.config.stash[RUNNING] = Federation(tmp_path_factory.mktemp("federation"))
    try:
        made.start_server()
        made.command("register")
        for site in SITES:
            made.start_client(site)
        yield made
    finally:
        end(request.config)


@pytest.fixture(autouse=True)
def run_is_over(request: pytest.FixtureRequest) -> Iterator[None]:
    """The run of a test that failed must not go on under the tests after it, which would fail for its sake."""
    yield
    if RUNNING in request.config.stash:
        request.config.stash[RUNNING].stop_if_running()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is not None and HERE not in nextitem.path.parents:
        end(item.config)


def end(config: pytest.Config) -> None:
    if RUNNING in config.stash:
        config.stash[RUNNING].end()
        del config.stash[RUNNING]
