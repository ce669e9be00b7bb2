"""`fedloom predict`: predictions of a finished run, for new data or for the samples that it was tested on."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fedloom.cli.flags import AddCommand
from fl_config.errors import ConfigError

SHOWN = 10  # rows on the terminal, where no file is asked for


def register(command: AddCommand) -> None:
    parser = command("predict", command_predict, "predict with the model of a finished run")
    parser.add_argument("folder", metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--data",
        metavar="SPEC",
        default=None,
        help="what to predict: csv:FILE, parquet:FILE, npz:FILE or folder:DIR, with labels or without (default: the samples that "
        "the run was tested on)",
    )
    parser.add_argument(
        "--client",
        metavar="NAME",
        default=None,
        help="take this client's own model, where the strategy gives it one; without --data, on the client's held-out samples",
    )
    parser.add_argument(
        "--out", metavar="FILE", default=None, help="write one row per sample as CSV (default: show the first rows)"
    )


def command_predict(args: argparse.Namespace) -> int:
    out = Path(args.out).expanduser() if args.out else None
    if out is not None:
        check_out(out)
    from fl_runs.prediction import KeptRun, predict

    predicted = predict(KeptRun.open(args.folder), args.data, args.client)
    for line in predicted.told():
        print(line)
    frame = predicted.frame()
    if out is None:
        print(frame.head(SHOWN).to_string(index=False))
        if len(frame) > SHOWN:
            print(f"... and {len(frame) - SHOWN} more; --out FILE writes all.")
        return 0
    try:
        frame.to_csv(out, index=False)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written ({error.strerror}): choose another --out.") from error
    print(f"Wrote {len(frame)} predictions to {out}.")
    return 0


def check_out(path: Path) -> None:
    """Raise a sentence unless the file can be written, before anything is computed."""
    if path.exists():
        raise ConfigError(f"{path} is already there: delete it, or choose another --out.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"The folder of {path} cannot be made ({error.strerror}): choose another --out.") from error
    if not os.access(path.parent, os.W_OK):
        raise ConfigError(f"There is no permission to write to {path.parent}: choose another --out.")
