"""The page about deployment, command by command, on this machine: one federation, of which one site is there."""

from __future__ import annotations

import re
import shlex
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deploy.federation import free_port
from tests.docs.executed_page import apart, begun, blocks, commands, ended, fedloom, going_on, write_small

PATIENCE = 180.0


def until_it_says(words: str, said: Path) -> None:
    last = time.monotonic() + PATIENCE
    while not said.exists() or words not in said.read_text():
        assert time.monotonic() < last, said.read_text()
        time.sleep(0.1)


@pytest.mark.timeout(900)
def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    fleet, control = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    data = tmp_path / "small.npz"
    write_small(data)
    server = f"--keys federation/server --control {control}"
    other = {  # than printed: what is on hosts of their own there
        "server": f"{server} --folder server --fleet {fleet}",
        "register": server,
        "client": f"--keys federation/clients/site-a --server {fleet} --data npz:{data} --folder client",
        "submit": f"{server} --dataset npz:{data} --clients 1 --model linear --rounds 1000",
        "status": f"{server} --folder server",
        "logs": server,
        "stop": server,
    }
    said, stream = tmp_path / "said.txt", tmp_path / "stream.txt"
    done = []
    with ExitStack() as until_the_end:
        for printed in [words for block in blocks("deployment.md") for words in commands(block)]:
            words = [re.sub(r"^(site-.)\.pub$", r"federation/clients/\1/\1.pub", word) for word in printed]
            words += shlex.split(other.get(words[1], ""))
            done.append(words[1])
            if words[1] in ("server", "client"):
                log = until_the_end.enter_context(going_on(words, tmp_path))
                if words[1] == "server":
                    until_it_says("Uvicorn running", log)
            elif words[1] == "submit":
                submitted = begun(fedloom, words, tmp_path, stream)
                until_the_end.callback(ended, submitted, 0)
                until_it_says("round 2", stream)
            else:
                apart(fedloom, words, tmp_path)
            if words[1] == "status":
                shown = said.read_text()
                assert re.search(r"^site-a +online ", shown, re.MULTILINE), shown
                assert re.search(r"^site-b +never seen ", shown, re.MULTILINE), shown
                assert re.search(r"first +feddyn\+disco\+asd +running ", shown), shown
        assert ended(submitted, 60) == 2
        assert "The run was stopped" in stream.read_text()
    assert done == ["trial", "init", "server", "register", "client", "submit", "status", "logs", "stop"]
    assert (tmp_path / "first" / "report.html").exists()  # of the trial
