"""The service and compose templates call commands that exist, with flags and paths that fit; and their own tools accept them.

`systemd-analyze verify` and `docker-compose config` are asked where they are installed. What they would not see is checked anyway.
"""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
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


UNITS = sorted(TEMPLATES.glob("*.service"))
COMPOSE = TEMPLATES / "compose.yaml"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_one_that_systemd_understands(unit: Path, tmp_path: Path) -> None:
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(unit.read_text())
    assert read.sections() == ["Unit", "Service", "Install"]
    service = read["Service"]
    words = shlex.split(service["ExecStart"])
    args = build_parser().parse_args(words[1:])
    assert Path(words[0]).is_absolute() and Path(args.keys).is_absolute()
    assert Path(args.folder).is_relative_to(service["ReadWritePaths"]), "systemd would not let it write there"
    assert not Path(args.keys).is_relative_to(service["ReadWritePaths"]), "it could write over its own keys"
    assert (service["Restart"], service["RestartPreventExitStatus"], service["UMask"]) == ("always", "2", "0077")
    if shutil.which("systemd-analyze"):
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace(words[0], "/bin/true"))
        done = subprocess.run(
            ["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=240, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_the_compose_file_mounts_what_its_commands_name() -> None:
    content = yaml.safe_load(COMPOSE.read_text())
    assert set(content) - {"x-client"} == {"services", "volumes"}
    for name, service in content["services"].items():
        args = build_parser().parse_args(["deploy", *map(str, service["command"])])
        mounts = {mount.split(":")[1]: mount.split(":") for mount in service["volumes"]}
        assert mounts[args.keys][2:] == ["ro"], f"the keys of {name}"
        volume = next(words[0] for place, words in mounts.items() if Path(args.folder).is_relative_to(place))
        assert volume in content["volumes"], f"what {name} remembers is gone with its container"
        if args.action == "client":
            assert args.data.removeprefix("npz:") in mounts and args.server.split(":")[0] in content["services"]
            assert mounts[args.keys][0].endswith(f"/clients/{name}"), "a client has another's keys"
            assert service["depends_on"] == ["server"]


def test_the_compose_file_is_one_that_compose_understands() -> None:
    """Where Compose is not installed, the parser of YAML at least finds every anchor and no key twice."""

    class Strict(yaml.SafeLoader):
        """Refuses a key that is given twice, of which YAML's parser would keep the last."""

    def mapping(loader: Strict, node: yaml.MappingNode) -> dict[Any, Any]:
        keys = [loader.construct_object(key) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        assert len(keys) == len(set(keys)), f"a key twice in {keys}"
        loader.flatten_mapping(node)
        return {loader.construct_object(key): loader.construct_object(value, deep=True) for key, value in node.value}

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    assert set(yaml.load(COMPOSE.read_text(), Strict)["services"]) == {"server", "site-a", "site-b", "site-c"}
    if compose := shutil.which("docker-compose"):
        words = [compose, "--file", str(COMPOSE), "config", "--services"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
        assert (done.returncode, sorted(done.stdout.split())) == (0, ["server", "site-a", "site-b", "site-c"]), (
            done.stderr
        )
