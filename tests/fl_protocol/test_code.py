"""Code that a run executes for its user: what travels, what its sums are, and what a host's owner must have named."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fl_protocol.code
from fl_config.errors import ConfigError
from fl_config.options import Options, options
from fl_models.loading import PRIVATE, Source
from fl_protocol.code import (
    SIMULATION,
    Code,
    check_unchanged,
    code_of_client,
    code_of_folder,
    code_on_disk,
    plugins_of,
    trust,
)

PARTS = "import sys\nsys.modules[__name__].was_read = True\n"
NET = "class Net: ...\n"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv(SIMULATION, raising=False)
    fl_protocol.code._code_of_client.cache_clear()  # or an earlier test's answer would be given
    Path("my_parts.py").write_text(PARTS)
    Path("my_net.py").write_text(NET)
    yield tmp_path
    for name in [each for each in sys.modules if each.startswith(PRIVATE)]:
        del sys.modules[name]


def executed() -> list[str]:
    return sorted(name.removeprefix(PRIVATE).rpartition("_")[0] for name in sys.modules if name.startswith(PRIVATE))


def run() -> Options:
    """The options of a run as a client gets them."""
    config = options({"plugin": "my_parts.py", "model": "my_net.py:Net"})
    named = code_on_disk(config)
    return config.model_copy(update={"sources": named.sums, "code": named.packed()})


def test_sums_and_texts_by_hand() -> None:
    before = executed()  # by tests of other files
    code = code_on_disk(options({"plugin": " my_parts.py ,my_net.py", "model": "my_net.py:Net"}))
    assert [one.place for one in code.everything] == ["my_parts.py", "my_net.py", "my_net.py"]
    assert code.sums == f"my_parts.py={sha(PARTS)}, my_net.py={sha(NET)}", "one sum per file"
    assert code.task is None and code_on_disk(options({"model": "mlp:200,200"})) == Code()
    assert plugins_of(" a.py, ,b") == ["a.py", "b"] and executed() == before


@pytest.mark.parametrize(
    "code",
    [
        Code(),
        Code((Source.of("a.py", "x = 'ä'\n"),)),
        Code((), Source.of("net.py", NET)),
        Code((Source.of("a.py", ""), Source.of("b.py", "\n")), None, Source.of("task.py", "y = 2\n")),
    ],
)
def test_what_is_packed_is_unpacked(code: Code) -> None:
    assert Code.unpacked(code.packed()) == code
    assert bool(code.packed()) == bool(code.everything)


def test_a_run_without_code_needs_nobodys_leave() -> None:
    assert code_of_client(options({}), None) == code_of_client(options({}), "") == Code()


def test_only_a_process_of_a_simulation_executes_what_a_run_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run()
    for value in (None, "0", "yes"):
        if value is not None:
            monkeypatch.setenv(SIMULATION, value)
        with pytest.raises(
            ConfigError, match="which this host does not execute: start the client with `fedloom deploy"
        ):
            code_of_client(config, None)
    assert executed() == []
    monkeypatch.setenv(SIMULATION, "")
    trust()
    Path("my_parts.py").unlink()
    brought = code_of_client(config, None)
    assert [one.text for one in brought.plugins] == [PARTS] and brought.model == Source.of("my_net.py", NET)
    assert executed() == ["my_parts"], "a model is executed where it is made, and not before"


def test_a_host_executes_what_its_owner_named_with_the_sums_of_the_run(folder: Path) -> None:
    config = run()
    (folder / "owners").mkdir()
    Path("my_parts.py").rename("owners/parts_of_mine.py")
    Path("my_net.py").rename("owners/my_net.py")
    own = code_of_client(config, "owners/my_net.py, owners/parts_of_mine.py")
    assert own.plugins == (Source("my_parts.py", PARTS, sha(PARTS)),) and own.model == Source.of("my_net.py", NET)


def test_a_file_that_the_owner_did_not_name_is_not_executed() -> None:
    config = run()
    for named in ("", "my_net.py"):
        with pytest.raises(ConfigError, match=rf"my_parts\.py \(SHA-256 {sha(PARTS)[:12]}\), which was not named by"):
            code_of_client(config, named)
    assert executed() == []


def test_a_file_of_the_same_name_with_another_text_is_not_executed() -> None:
    config = run()
    Path("my_parts.py").write_text(PARTS + "#\n")
    sentence = rf"my_parts\.py \(SHA-256 {sha(PARTS)[:12]}\), which has another text there \(SHA-256 {sha(PARTS + '#' + chr(10))[:12]}\)"
    with pytest.raises(ConfigError, match=sentence):
        code_of_client(config, "./my_parts.py,my_net.py")
    assert executed() == []


def test_the_texts_of_the_run_mean_nothing_to_a_host() -> None:
    """Neither trust in the process nor a text that travels along replaces the owner's file."""
    config = run()
    trust()
    forged = Code((Source("my_parts.py", "raise SystemExit\n", sha(PARTS)),)).packed()
    own = code_of_client(config.model_copy(update={"code": forged}), "my_parts.py,my_net.py")
    assert [one.text for one in own.plugins] == [PARTS]


def test_a_resumed_run_keeps_its_code() -> None:
    before = Code((Source.of("a.py", "1\n"), Source.of("b.py", "2\n")))
    check_unchanged(before, before.sums, "runs/x")
    for now in (Code((Source.of("a.py", "1\n"), Source.of("b.py", "3\n"))), Code((Source.of("a.py", "1\n"),))):
        with pytest.raises(ConfigError, match=r"but b\.py is not what it was when runs/x was begun: .*runs/x/sources"):
            check_unchanged(now, before.sums, "runs/x")


def test_a_finished_run_has_its_texts_in_its_folder(folder: Path) -> None:
    config, kept = run(), folder / "sources"
    kept.mkdir()
    (kept / "my_parts.py").write_text(PARTS)
    expected = code_on_disk(config)
    assert code_of_folder(config, kept) == expected, "a text that the folder lost is taken from where it was"
    (kept / "my_net.py").write_text(NET)
    Path("my_net.py").unlink()
    assert code_of_folder(config, kept) == expected
    (kept / "my_net.py").unlink()
    Path("my_net.py").write_text("class Net: changed = True\n")
    with pytest.raises(ConfigError, match=r"executed my_net\.py with another text than it has now"):
        code_of_folder(config, kept)
    assert code_of_folder(options({}), kept) == Code()
