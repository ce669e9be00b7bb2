"""Strangers are kept out, a poisoned reply is refused, and neither data nor keys are found where they should not be."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from deploy.bundle import write_app
from deploy.keys import make_keys
from tests.deploy.federation import PATIENCE, SITES, Federation

POISON = """
import numpy as np
from flwr.app import Array, Context, Message
from flwr.clientapp import ClientApp

genuine, client = client, ClientApp()


@client.query()
@client.train()
def answer(message: Message, context: Context) -> Message:
    reply = genuine(message, context)
    arrays = reply.content.array_records
    if context.node_config["name"] == "site-b" and "arrays" in arrays:
        name = next(iter(arrays["arrays"]))
        arrays["arrays"][name] = Array(np.full_like(arrays["arrays"][name].numpy(), np.nan))
    return reply
"""


def test_strangers_are_refused(federation: Federation) -> None:
    """A key that nobody registered, a server whose authority is not ours, and a client without encryption, at the same time."""
    folder = federation.folder
    make_keys(folder / "strangers", ["10.0.0.1"], ["stranger", "misled"])
    stranger = folder / "strangers" / "clients" / "stranger"
    (stranger / "ca.crt").write_bytes((federation.keys / "clients" / "site-a" / "ca.crt").read_bytes())
    misled = folder / "strangers" / "clients" / "misled"
    (misled / "site-a.key").write_bytes((federation.keys / "clients" / "site-a" / "site-a.key").read_bytes())
    (misled / "misled.key").unlink()
    address = f"{federation.network.server_seen_by('site-a')}:{federation.fleet}"
    started: dict[str, subprocess.Popen[bytes]] = {}
    for name, words in {
        "unregistered": ["--keys", str(stranger)],
        "wrong-authority": ["--keys", str(misled)],
        "plaintext": ["--insecure", "--name", "site-a"],
    }.items():
        started[name] = federation.start(
            "site-a", name, "client", *words, "--server", address, "--data", "npz:site-a.npz", "--folder", f"c-{name}",
            "--max-retries", "1",
        )  # fmt: skip
    for name, process in started.items():
        assert process.wait(PATIENCE) != 0, federation.log(name)
        assert "Exit Code: 305" in federation.log(name), federation.log(name)
        assert "SuperNode ID" not in federation.log(name), f"{name} was let in"
    assert "TLS" in federation.log("wrong-authority") or "certificate" in federation.log("wrong-authority").lower()
    told = federation.command("status", "--insecure", check=False)
    assert "Warning: --insecure" in told and "must be given on both sides or on none" in told
    assert "site-a" not in told and "Traceback" not in told


def test_a_client_that_returns_nan_is_left_out_by_name_and_nothing_private_is_left_lying(
    federation: Federation,
) -> None:
    app = write_app(federation.folder / "poisoned")
    (app / "fedloom_app.py").write_text((app / "fedloom_app.py").read_text() + POISON)
    config = {
        "partition": "private",
        "model": "mlp:8",
        "clients": 3,
        "rounds": 2,
        "batch-size": 10,
        "strategy": "feddisco",
    }
    folder = federation.submit("poisoned", config, "--app", str(app), "--set", "disco.target=global")
    lines = federation.finished(folder)
    for line in lines[1:]:
        assert line["cohort"] == ["site-a", "site-c"]
        assert [one["id"] for one in line["dropped"]] == ["site-b"] and "not finite" in line["dropped"][0]["reason"]
    assert all(np.isfinite(value).all() for value in load_file(folder / "model.safetensors").values())
    no_secrets(federation)


LAUNCHER = """
import sys, httpx
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.superexec.run_superexec import _SUPEREXEC_AUTH_METHODS

own = [RuntimeVersionHttpInterceptor(component_name="SuperExec")]
signed = SuperExecAuthHttpInterceptor(master_secret=b"x" * 32, protected_methods=_SUPEREXEC_AUTH_METHODS)
for interceptors in (own, [*own, signed]):
    client = RuntimeHttpClient.from_server_address(sys.argv[1], True, None, interceptors)
    try:
        client.AcquireTask(AcquireTaskRequest(supported_task_types=["flwr-clientapp"]))
        print("let in")
    except httpx.HTTPStatusError as refusal:
        print(refusal.response.status_code)
"""


def test_who_does_not_know_a_sites_secret_is_given_none_of_its_work(federation: Federation) -> None:
    """Neither without a secret nor with another one, as the launcher of another site on the same host has it."""
    federation.until(lambda: "Uvicorn running" in federation.log("site-a"), "the site's own port")
    place = re.findall(r"Uvicorn running on http://([0-9.:]+)", federation.log("site-a"))[-1]
    words = [*federation.network.prefix("site-a"), sys.executable, "-c", LAUNCHER, place]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout.split() == ["401", "401"], done.stdout + done.stderr


def no_secrets(federation: Federation) -> None:
    """Neither samples nor keys in what the server wrote: run folders, checkpoints, database, logs."""
    found = [path for path in (federation.folder / "server").rglob("*") if path.is_file()]
    found += list(federation.folder.glob("*.log"))
    secrets: list[tuple[str, bytes]] = []
    for site in SITES:
        content = np.load(federation.folder / f"{site}.npz")
        secrets += [(f"a sample of {site}", row.tobytes()) for row in content["x_train"][:10]]
        secrets += [(f"the labels of {site}", content["y_train"].astype(kind).tobytes()) for kind in ("i8", "i4", "u1")]
        counts = np.bincount(content["y_train"], minlength=3)
        secrets += [(f"the class counts of {site}", counts.astype(kind).tobytes()) for kind in ("<i8", "<i4", "<f8")]
        key = (federation.keys / "clients" / site / f"{site}.key").read_bytes().splitlines()
        secrets += [(f"the key of {site}", line) for line in key[1:-1] if len(line) > 40]
    secrets += [("the server's key", line) for line in _body(federation.keys / "server" / "server.key")]
    for path in found:
        content = path.read_bytes()
        for what, secret in secrets:
            assert secret not in content, f"{what} is in {path}"
    assert any(path.name == "state.safetensors" for path in found) and any(path.suffix == ".db" for path in found)


def _body(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines()[1:-1] if len(line) > 40]


def states(federation: Federation) -> dict[str, str]:
    return {site["name"]: site["state"] for site in json.loads(federation.command("status", "--json"))["sites"]}


def test_a_revoked_site_is_cut_off_and_stays_out(federation: Federation) -> None:
    make_keys(federation.keys, [], ["site-d"])
    federation.command("register", "federation/clients/site-d/site-d.pub")
    address = f"{federation.network.server_seen_by('site-a')}:{federation.fleet}"
    words = ["client", "--keys", "federation/clients/site-d", "--server", address, "--data", "npz:site-a.npz"]
    words += ["--folder", "client-site-d"]
    first = federation.start("site-a", "site-d", *words)
    try:
        federation.until(lambda: states(federation).get("site-d") == "online", "the fourth site")
        assert "site-d is revoked" in federation.command("revoke", "site-d")
        assert states(federation)["site-d"] == "revoked"
        again = federation.start("site-a", "site-d-again", *words, "--max-retries", "1")
        assert again.wait(PATIENCE) != 0, federation.log("site-d-again")
        assert "SuperNode ID" not in federation.log("site-d-again"), "a revoked key was let in"
        assert states(federation)["site-d"] == "revoked"
        assert "was revoked and stays so" in federation.command(
            "register", "federation/clients/site-d/site-d.pub", check=False
        )
    finally:
        first.terminate()
        first.wait(PATIENCE)


def test_logs_speak_of_sites_by_name(federation: Federation) -> None:
    """Every file that server and clients write for people to read."""
    with closing(sqlite3.connect(federation.folder / "server" / "federation.db")) as opened:
        numbers = [str(number % (1 << 64)) for (number,) in opened.execute("SELECT node_id FROM node")]
    assert len(numbers) >= len(SITES)
    logs = [federation.folder / "server" / "server.log", federation.folder / "client-site-a" / "client.log"]
    logs += [federation.folder / f"{name}.log" for name in ("server", *SITES)]
    logs += sorted((federation.folder / "server").rglob("log.txt"))
    for log in logs:
        content = log.read_text(errors="replace")
        assert not [number for number in numbers if number in content], f"the number of a node is in {log}"
    assert "node_id=site-a" in logs[0].read_text(errors="replace")
    assert "SuperNode ID: site-a" in logs[1].read_text(errors="replace")
