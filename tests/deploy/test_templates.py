"""The service and compose templates call commands that exist, with flags that exist."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

import deploy
from fedloom.cli.main import build_parser

TEMPLATES = Path(deploy.__file__).parent / "templates"


def commands() -> list[Any]:
    found = []
    for path in sorted(TEMPLATES.glob("*.service")):
        line = next(line for line in path.read_text().splitlines() if line.startswith("ExecStart="))
        found.append(pytest.param(shlex.split(line.removeprefix("ExecStart="))[2:], id=path.stem))
    content = yaml.safe_load((TEMPLATES / "compose.yaml").read_text())
    for name, service in content["services"].items():
        found.append(pytest.param([str(word) for word in service["command"]], id=f"compose {name}"))
    for line in (TEMPLATES / "compose.yaml").read_text().splitlines():
        if "exec server fedloom deploy" in line:
            words = shlex.split(line.split("fedloom deploy ")[1])
            found.append(pytest.param(words, id=f"compose exec {words[0]}"))
    return found


@pytest.mark.parametrize("words", commands())
def test_the_command_is_understood(words: list[str]) -> None:
    args = build_parser().parse_args(["deploy", *words])
    assert args.action == words[0]
    assert not args.insecure
