"""`fedloom deploy backup` and `restore`: the server's folder in one file, while the server runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from fedloom.cli.deploy.arguments import KEYS, SERVER_FOLDER, existing
from fedloom.cli.flags import AddCommand


def register(action: AddCommand) -> None:
    save = action("backup", command_backup, "write the server's folder to one file, also while the server runs")
    save.add_argument("file", metavar="FILE", help="a new file, such as federation.tar.gz")
    save.add_argument(
        "--with-keys",
        metavar="DIR",
        nargs="?",
        const=KEYS,
        default=None,
        help="put the server's certificate and private key into it as well: then the file must be guarded like the key "
        f"(default: without; DIR is {KEYS} where it is left out)",
    )
    load = action("restore", command_restore, "make a server's folder of such a file")
    load.add_argument("file", metavar="FILE", help="a file that `fedloom deploy backup` has written")
    for parser, what in ((save, "the server's folder"), (load, "the new folder")):
        parser.add_argument("--folder", metavar="DIR", default=SERVER_FOLDER, help=f"{what} (default: {SERVER_FOLDER})")


def command_backup(args: argparse.Namespace) -> int:
    from deploy.upkeep.archive import KEY_FILES, back_up

    keys = None
    if args.with_keys is not None:
        keys = Path(args.with_keys)
        keys = keys / "server" if (keys / "server").is_dir() else keys
        for name in KEY_FILES:
            existing(keys / name)
    made = back_up(Path(args.folder), Path(args.file), keys)
    inside = f"{len(made.runs)} run{'s' * (len(made.runs) != 1)} and the registered sites"
    guarded = "The server's private key is in it: guard it." if keys else "No key is in it."
    print(f"{args.file} holds {inside}. {guarded}")
    return 0


def command_restore(args: argparse.Namespace) -> int:
    from deploy.upkeep.archive import KEYS as INSIDE
    from deploy.upkeep.archive import restore

    folder = Path(args.folder)
    made = restore(Path(args.file), folder)
    keys = folder / INSIDE if made.keys else "KEYS"
    print(f"{folder} is as the server's folder was at {made.made} (FedLoom {made.fedloom}).")
    print(f"Start it with `fedloom deploy server --keys {keys} --folder {folder}`", end="")
    print(
        f"; resume what was running with `fedloom deploy submit --resume RUN`: {', '.join(made.runs)}."
        if made.runs
        else "."
    )
    return 0
