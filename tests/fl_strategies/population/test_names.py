"""Nodes are called by the names of their sites, and a site by no other's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message
from flwr.serverapp import Grid

import client_app
from fl_config.errors import ConfigError
from fl_config.options import as_flat
from fl_runs.plan import make_plan
from fl_strategies.population.names import Names
from server_app import open_server
from simulation.engines.inline import InlineGrid
from tests.deploy.federation import SITES, private_data

NUMBERS = (10487608854767019357, 14097379605319252431, 6844129035938416251)


class Registered:
    """What a grid says of a node."""

    def __init__(self, node_id: int, name: str) -> None:
        self.node_id, self.name = node_id, name


class Deployed(InlineGrid):
    """The inline engine with the names under which a server's keys are registered."""

    registered = SITES

    def get_nodes(self) -> Any:
        return [Registered(*pair) for pair in zip(self.get_node_ids(), self.registered, strict=True)]


def federated(folder: Path, told: Iterable[str] = SITES, **nodes: dict[str, Any]) -> Path:
    """A run of three sites, each of which calls itself as `told` says; returns its folder."""
    private_data(folder)
    plan = make_plan(
        {
            "partition": "private", "model": "linear", "clients": 3, "rounds": 1, "device": "cpu",
            "dataset": f"npz:{folder / 'server.npz'}", "out": str(folder / "run"),
        }
    )  # fmt: skip
    grid = Deployed(client_app.app, len(SITES), as_flat(plan.config))
    for node, site, name in zip(grid.get_node_ids(), SITES, told, strict=True):
        own = {"name": name, "data": f"npz:{folder / site}.npz"}
        grid.context(node).node_config = nodes.get(site.replace("-", "_"), own)
    open_server(plan).run(grid)
    return folder / "run"


def test_a_node_is_called_as_its_client_calls_itself_or_as_its_key_was_registered() -> None:
    class Server(Grid):  # type: ignore[misc]
        def get_nodes(self) -> Any:
            return [Registered(number, name) for number, name in zip(NUMBERS, ("site-a", "site-b", ""), strict=True)]

        def get_node_ids(self) -> Iterable[int]:
            return NUMBERS

        def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
            return []

        pull_messages = send_and_receive = run = set_run = create_message = push_messages

    clients: dict[int, int | str] = {}
    names = Names(clients)
    assert names.of(NUMBERS[0]) == "a client"
    names.learn(Server())
    clients[NUMBERS[0]] = 4
    assert [names.of(number) for number in NUMBERS] == ["client 4", "client site-b", "a client"]
    assert names.about(NUMBERS[1], "no memory") == "client site-b: no memory"
    assert names.about(NUMBERS[1], "Client site-b has no data.") == "Client site-b has no data."
    assert names.about(NUMBERS[2], "no memory") == "no memory"
    assert names.claim(NUMBERS[1], "site-b") is None and names.claim(NUMBERS[2], "site-x") is None
    assert "key of site-b calls itself site-a" in (names.claim(NUMBERS[1], "site-a") or "")


def test_the_run_keeps_what_its_sites_said_of_themselves(tmp_path: Path) -> None:
    kept = json.loads((federated(tmp_path) / "sites.json").read_text())
    assert {name: site["examples"] for name, site in kept.items()} == dict(zip(SITES, (40, 60, 30), strict=True))
    assert all(site["client"] == name and site["software"] for name, site in kept.items())


def test_a_site_that_takes_anothers_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only 2 can take part: the key of site-b calls itself site-a"):
        federated(tmp_path, told=("site-a", "site-a", "site-c"))


def test_a_site_that_cannot_say_who_it_is_is_named_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only 2 can take part: client site-b: .*nowhere.npz"):
        federated(tmp_path, site_b={"name": "site-b", "data": "npz:nowhere.npz"})
