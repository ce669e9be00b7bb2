"""`fedloom deploy register` and `revoke`: which sites the server lets in, by the names of their keys."""

from __future__ import annotations

import argparse
from pathlib import Path

from fedloom.cli.deploy.arguments import add_control, add_keys, control, existing
from fedloom.cli.flags import AddCommand
from fl_config.errors import ConfigError, nearest


def register(action: AddCommand) -> None:
    add = action("register", command_register, "let sites in by their public keys, under the names of the files")
    add.add_argument("files", nargs="*", metavar="NAME.pub", help="public keys (default: all in --keys)")
    revoke = action("revoke", command_revoke, "refuse sites from now on, and cut off those that are connected")
    revoke.add_argument("names", nargs="+", metavar="NAME", help="the sites, as `fedloom deploy status` calls them")
    for parser in (add, revoke):
        add_control(parser, "the server's address for submitting")
        add_keys(parser, "a folder with ca.crt, or the whole federation's")


def command_register(args: argparse.Namespace) -> int:
    from deploy.keys import public_keys, read_public_key
    from fl_protocol.flower.control import REVOKED

    files = [Path(file) for file in args.files] or public_keys(Path(args.keys))
    if not files:
        raise ConfigError(f"There is no public key in {args.keys}/clients: name the files NAME.pub.")
    keys = [read_public_key(Path(existing(file))) for file in files]  # all of them before the first is registered
    with control(args) as server:
        known = server.nodes()
        for name, key in keys:
            same = next((node for node in known if node.key == server.key_bytes(key)), None)
            other = next((node for node in known if node.name == name and node.state != REVOKED), None)
            if same is not None and same.state == REVOKED:
                raise ConfigError(
                    f"The key of {name} was revoked and stays so: move its folder away, make a new key with `fedloom deploy init "
                    f"FOLDER --clients {name}`, and register that one."
                )
            if same is not None:
                print(f"{same.name or name} is registered already.")
                continue
            if other is not None:
                raise ConfigError(
                    f"There is a {name} already, with another key: `fedloom deploy revoke {name}` removes it, or choose another "
                    "name for this one."
                )
            server.register(name, key)
            print(f"{name} is registered.")
    return 0


def command_revoke(args: argparse.Namespace) -> int:
    from fl_protocol.flower.control import REVOKED

    with control(args) as server:
        members = {node.name: node for node in server.nodes() if node.name and node.state != REVOKED}
        for name in args.names:
            if name not in members:
                there = f" Registered are {', '.join(sorted(members))}." if members else " No site is registered."
                raise ConfigError(f"There is no registered site {name!r}{nearest(name, members)}{there}")
        for name in args.names:
            server.unregister(members[name])
            print(f"{name} is revoked: the server refuses it from now on.")
    return 0
