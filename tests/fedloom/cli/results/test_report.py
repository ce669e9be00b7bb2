"""`fedloom report`: where the page is written, and whether it is opened."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from fedloom.cli.main import main
from tests.fedloom.cli.command_line import fails
from tests.runs.made_runs import MakeRun


def test_the_page_is_in_the_run_folder_or_here_for_several(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = make_run("one", rounds=2), make_run("other", rounds=2, strategy="fedssa")
    assert main(["report", str(one), "--title", "My <title>"]) == 0
    assert "<h1>My &lt;title&gt;</h1>" in (one / "report.html").read_text()
    assert f"The report is {one / 'report.html'}; the other results are beside it.\n" in capsys.readouterr().out
    assert main(["report", str(one), str(other), "--csv", "t.csv", "--latex", "t.tex"]) == 0
    assert capsys.readouterr().out == "The report is report.html, and the table is t.csv and t.tex.\n"
    assert "2 configurations compared" in (tmp_path / "report.html").read_text()
    assert main(["report", str(one), "--out", "new/page.html"]) == 0
    assert (tmp_path / "new" / "page.html").is_file()
    assert "not a run folder" in fails(capsys, "report", str(tmp_path / "new"))


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--baseline", "fedprox"], "There is no 'fedprox' among these runs for --baseline"),
        (["--out", "."], "a folder stands where a file is needed, choose another name."),
        (["--csv", "."], "a folder stands where a file is needed, choose another name."),
        (["--latex", "file/t.tex"], "a file stands where a folder is needed, choose another place."),
        (["--title"], "Argument --title: expected one argument."),
        (["--cvs", "t.csv"], "There is no flag '--cvs'; did you mean '--csv'?"),
    ],
)
def test_a_bad_value_is_one_sentence(
    flags: list[str],
    told: str,
    make_run: MakeRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert told in fails(capsys, "report", str(make_run("one", rounds=2)), *flags)


def test_a_browser_opens_where_it_is_asked_for_and_there_is_a_screen(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    folder = make_run(rounds=2)
    for screen, flags in (("", ["--open"]), (":0", []), (":0", ["--open"])):
        monkeypatch.setenv("DISPLAY", screen)
        assert main(["report", str(folder), *flags]) == 0
        assert len(opened) == (screen != "" and flags != [])
    assert opened == [(folder / "report.html").resolve().as_uri()]
