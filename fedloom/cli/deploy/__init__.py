"""`fedloom deploy`: keys, a server, clients on their own hosts, and runs on them.

Everything is encrypted and authenticated unless the user asks otherwise.
"""

from __future__ import annotations

from fedloom.cli.deploy import backup, hosts, members, renew, runs, status
from fedloom.cli.deploy.hosts import node_config
from fedloom.cli.flags import AddCommand, subcommands

__all__ = ["node_config", "register"]


def register(command: AddCommand) -> None:
    parser = command("deploy", lambda args: 0, "run a server and clients on separate hosts, and submit runs to them")
    action = subcommands(parser, "action")
    for commands in (hosts, members, status, runs, renew, backup):
        commands.register(action)
