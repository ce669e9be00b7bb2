"""`fedloom deploy register` and `revoke`: a name belongs to one key, and a revoked key does not come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.keys import make_keys
from fedloom.cli.main import main
from tests.fedloom.cli.deploy.replaced import FakeControl, fails


def states(server: FakeControl) -> list[tuple[str, str]]:
    return [(node.name, node.state) for node in server.nodes()]


def test_all_keys_of_a_federation_are_registered_under_their_names(started: list[Any], server: FakeControl) -> None:
    assert main(["deploy", "register"]) == 0
    assert states(server) == [("site-a", "registered"), ("site-b", "registered")]


def test_registering_again_changes_nothing(
    started: list[Any], server: FakeControl, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["deploy", "register", "federation/clients/site-a/site-a.pub"]) == 0
    assert states(server) == [("site-a", "registered")]
    assert "site-a is registered already." in capsys.readouterr().out


def test_ssh_keygens_file_name_gives_the_same_name(started: list[Any], server: FakeControl) -> None:
    own = Path("federation/clients/site-a/site-a.pub").rename("site-x.key.pub")
    assert main(["deploy", "register", str(own)]) == 0
    assert states(server) == [("site-x", "registered")]


def test_a_name_belongs_to_one_key(started: list[Any], server: FakeControl, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "register"]) == 0
    make_keys(Path("other"), ["h"], ["site-a"])
    assert "There is a site-a already" in fails(capsys, "register", "other/clients/site-a/site-a.pub")


def test_a_revoked_key_stays_out_and_a_new_one_may_take_its_name(
    started: list[Any], server: FakeControl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", "register"]) == 0
    assert main(["deploy", "revoke", "site-b"]) == 0
    assert states(server) == [("site-a", "registered"), ("site-b", "revoked")]
    assert "was revoked and stays so" in fails(capsys, "register")
    make_keys(Path("new"), ["h"], ["site-b"])
    assert main(["deploy", "register", "new/clients/site-b/site-b.pub"]) == 0
    assert states(server)[-1] == ("site-b", "registered")


def test_who_is_not_there_cannot_be_revoked_and_nobody_else_is(
    started: list[Any], server: FakeControl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "No site is registered" in fails(capsys, "revoke", "site-a")
    assert main(["deploy", "register"]) == 0
    told = fails(capsys, "revoke", "site-a", "site-bb")
    assert "did you mean 'site-b'" in told and "Registered are site-a, site-b." in told
    assert states(server) == [("site-a", "registered"), ("site-b", "registered")]


def test_a_file_that_is_no_key_is_a_sentence_before_anything_is_registered(
    started: list[Any], server: FakeControl, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.pub").write_text("hello")
    assert "not the public half of an ECDSA key" in fails(
        capsys, "register", "federation/clients/site-a/site-a.pub", "odd.pub"
    )
    Path("a b.pub").write_text("hello")
    assert "'a b.pub'" in fails(capsys, "register", "a b.pub")
    assert states(server) == []
