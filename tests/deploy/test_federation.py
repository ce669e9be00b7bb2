"""Three hosts with private data train as one process with the same data would, whatever happens to them on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Error, Message
from safetensors.numpy import load_file

import client_app
from fl_config.options import as_flat
from fl_runs.plan import make_plan
from server_app import open_server
from simulation.engines.inline import InlineGrid
from tests.deploy.federation import SITES, Federation, records

RUN: dict[str, Any] = {
    "partition": "private",
    "model": "mlp:8",
    "clients": 3,
    "rounds": 3,
    "epochs": 2,
    "lr": 0.1,
    "batch-size": 10,
    "device": "cpu",
}


class Twin(InlineGrid):
    """The inline engine on the same sites; a client that was not used in a round is not used here either."""

    used: dict[int, list[str]]
    names: dict[int, str]

    def _answer(self, message: Message) -> Message:
        round, name = message.metadata.group_id, self.names[message.metadata.dst_node_id]
        if round.isdigit() and name not in self.used.get(int(round), [name]):
            return Message(Error(code=0, reason="it was away"), reply_to=message)
        return super()._answer(message)


def twin(federation: Federation, out: Path, config: dict[str, Any], lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The model of the inline engine for the run that left these records."""
    plan = make_plan({**config, "dataset": f"npz:{federation.folder / 'server.npz'}", "out": str(out)})
    grid = Twin(client_app.app, len(SITES), as_flat(plan.config))
    for context, site in zip(map(grid.context, grid.get_node_ids()), SITES, strict=True):
        context.node_config = {
            "name": site,
            "data": f"npz:{federation.folder / site}.npz",
            "state": str(out / "state" / site),
        }
    grid.names = dict(zip(grid.get_node_ids(), SITES, strict=True))
    grid.used = {line["round"]: line["cohort"] for line in lines if line["round"]}
    open_server(plan).run(grid)
    return dict(load_file(out / "model.safetensors"))


def assert_equal(folder: Path, expected: dict[str, Any]) -> None:
    model = load_file(folder / "model.safetensors")
    assert model.keys() == expected.keys()
    for name, value in model.items():
        np.testing.assert_allclose(value, expected[name], atol=1e-6, rtol=0, err_msg=name)


@pytest.mark.parametrize(
    ("strategy", "masked"), [("feddisco", True), ("feddyn+disco+asd", False), ("fedssg", False)], ids=str
)
def test_private_data_on_three_hosts_gives_the_inline_model(
    federation: Federation, tmp_path: Path, strategy: str, masked: bool
) -> None:
    config = {**RUN, "strategy": strategy, "wait": 120}
    folder = federation.submit(strategy.replace("+", "-"), config, *(["--secure-aggregation"] if masked else []))
    lines = federation.finished(folder)
    assert [line.get("secure/revealed") for line in lines[1:]] == [3 if masked else None] * 3
    assert not list(federation.folder.rglob("*.round")), "a host still has the secrets of a masked round"
    assert [line["round"] for line in lines] == [0, 1, 2, 3]
    assert all(line["cohort"] == list(SITES) and not line["dropped"] for line in lines[1:])
    assert_equal(folder, twin(federation, tmp_path / "twin", config, lines))


def test_a_killed_client_is_missed_and_comes_back_with_its_state(federation: Federation, tmp_path: Path) -> None:
    """SIGKILL in round 2: the round ends without it, the run goes on, and later it trains from the state of its last used round."""
    config = {**RUN, "strategy": "fedssg", "rounds": 20, "epochs": 40, "round-timeout": 60, "min-replies": 2}
    folder = federation.submit("killed-client", config)
    federation.until(lambda: len(records(folder)) >= 2, "round 1")
    os.kill(federation.clients["site-c"].pid, signal.SIGKILL)
    federation.clients["site-c"].wait()
    # One that is back at once would still be given the round's message, and nobody would have missed it.
    federation.until(lambda: "site-c" not in records(folder)[-1]["cohort"], "a round without it")
    federation.start_client("site-c")
    lines = federation.finished(folder)
    without = [line["round"] for line in lines[1:] if "site-c" not in line["cohort"]]
    assert without and lines[1]["cohort"] == list(SITES)
    assert lines[-1]["cohort"] == list(SITES), f"it did not come back: missing in rounds {without}"
    assert all({"site-a", "site-b"} <= set(line["cohort"]) for line in lines[1:])
    assert_equal(folder, twin(federation, tmp_path / "twin", config, lines))


def test_a_killed_server_app_is_resumed(federation: Federation, tmp_path: Path) -> None:
    config = {**RUN, "strategy": "fedssg", "rounds": 5, "epochs": 20}
    folder = federation.submit("killed-server", config)
    federation.until(lambda: len(records(folder)) >= 3, "round 2")
    apps = federation.server_apps()
    assert len(apps) == 1
    os.kill(apps[0], signal.SIGKILL)
    assert not (folder / "summary.json").exists()
    done = len(records(folder)) - 1
    changed = ["--rounds", "6", "--lr", "0.2", "--strategy", "fedssg"]
    said = federation.command("submit", "--resume", "killed-server", *changed, "--stream", code=2)
    assert "fedloom: The run failed: A resumed run keeps its options" in said
    assert not (folder / "summary.json").exists(), "a run with other options was resumed"
    federation.command("submit", "--resume", str(folder))
    lines = federation.finished(folder)
    assert [line["round"] for line in lines] == list(range(6)) and done < 5
    assert_equal(folder, twin(federation, tmp_path / "twin", config, lines))


def test_a_link_that_is_cut_for_20_seconds(federation: Federation, tmp_path: Path) -> None:
    """The round that needs all three is not counted and its states are rolled back; the next waits until all are there."""
    if not federation.network.namespaces:
        pytest.skip("network namespaces cannot be made here, so there is no link to cut")
    config = {**RUN, "strategy": "fedssg", "rounds": 7, "epochs": 20, "round-timeout": 15, "min-replies": 3}
    folder = federation.submit("cut-link", config)
    federation.until(lambda: len(records(folder)) >= 2, "round 1")
    federation.network.set_link("site-a", "down")
    time.sleep(20)
    federation.network.set_link("site-a", "up")
    lines = federation.finished(folder)
    assert lines[-1]["cohort"] == list(SITES)
    assert all(line["cohort"] in ([], list(SITES)) for line in lines[1:])
    assert_equal(folder, twin(federation, tmp_path / "twin", config, lines))


def test_a_run_can_be_watched_and_stopped(federation: Federation) -> None:
    """By the administrator's commands: the list of runs, the log, the end of a run; its finished rounds stay."""
    folder = federation.submit("stopped", {**RUN, "strategy": "fedavg", "rounds": 200})
    federation.until(lambda: len(records(folder)) >= 2, "round 1")
    shown = federation.command("status")
    listed = re.search(r"(\d{12,}) +stopped +fedavg +running +\d+ of 200 +accuracy 0\.\d{4} ", shown)
    assert listed, shown
    for site, examples in zip(SITES, (40, 60, 30), strict=True):
        assert re.search(rf"{site} +online .* {examples} +round \d+ of stopped +never", shown), shown
    assert "round 1/200" in federation.command("logs", listed[1])
    federation.command("stop", "stopped")
    federation.running = None  # it gives up now, as it should
    federation.until(lambda: not federation.server_apps(), "the end of the server's app")
    assert json.loads((folder / "summary.json").read_text())["finished"] is False
    assert 2 <= len(records(folder)) < 200
    assert not re.search(r"\d{12,}.*running", federation.command("status"))
    told = json.loads(federation.command("status", "--json"))
    assert [site["name"] for site in told["sites"]] == list(SITES)
    assert {run["folder"]: run["state"] for run in told["runs"]}["stopped"] == "stopped"
