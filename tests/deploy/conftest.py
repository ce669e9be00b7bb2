"""One federation for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deploy.federation import SITES, Federation


@pytest.fixture(scope="session")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    made = Federation(tmp_path_factory.mktemp("federation"))
    try:
        made.start_server()
        made.command("register")
        for site in SITES:
            made.start_client(site)
        yield made
    finally:
        made.end()
