"""`fedloom dashboard` and `fedloom run --dashboard` from the command line."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fedloom.cli.command_line import fails


def test_it_says_where_it_is_answers_there_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fedloom", "dashboard"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.readline()
    found = re.fullmatch(r"The dashboard of runs is at http://127\.0\.0\.1:(\d+)/ \(Ctrl-C ends it\)\.\n", said)
    assert found is not None
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
    connection.request("GET", "/")
    response = connection.getresponse()
    assert response.status == 200 and b"FedLoom" in response.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "There is no folder nowhere: name the folder in which your runs are."),
        (["--port", "99999"], "from 0 to 65535, but 99999 was given"),
        (["--port", "x"], "--port is a number from 0 to 65535, but 'x' was given."),
        (["--port"], "Argument --port: expected one argument. `fedloom dashboard --help` lists what there is."),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1, port 0"),
        (["--host", "no such name"], "--host no such name is no address of this machine"),
        (["--open=yes"], "ignored explicit argument 'yes'"),
        (["a", "b"], "The word 'b' has no place there"),
    ],
)
def test_wrong_use_is_one_sentence(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in fails(capsys, "dashboard", *arguments)


def test_a_run_has_its_dashboard_while_it_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fedloom", "run", "--dashboard", "--engine", "inline", "--dataset", "digits"]
    command += ["--rounds", "1", "--clients", "2", "--strategy", "fedprox"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.endswith("-fedprox") and (run / "report.html").is_file()
    assert f"view?run={run.name} while the run goes on." in done.stdout
    assert done.stderr == ""
