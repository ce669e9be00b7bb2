"""`fedloom predict`: predictions of a run's client models, with weights learned for each sample."""

from __future__ import annotations

import argparse
from pathlib import Path

from fedloom.cli.flags import AddCommand
from fl_config.errors import ConfigError


def register(command: AddCommand) -> None:
    parser = command(
        "predict", command_predict, "classify samples with weights learned for each, beside the plain ensemble"
    )
    parser.add_argument("folder", metavar="RUN", help="the folder of a run with --set ssa.mode=sample_wise")
    parser.add_argument(
        "--data", metavar="npz:FILE", default=None, help="what to classify (default: the run's own target set)"
    )
    parser.add_argument(
        "--samples",
        metavar="N",
        type=int,
        default=1000,
        help="how many, drawn by the run's seed; 0 is all (default: 1000)",
    )
    parser.add_argument("--views", metavar="N", type=int, default=4, help="pairs of views per sample (default: 4)")
    parser.add_argument("--steps", metavar="N", type=int, default=100, help="learning steps per sample (default: 100)")
    parser.add_argument("--out", metavar="FILE", default=None, help="write the predictions as JSON lines")


def command_predict(args: argparse.Namespace) -> int:
    if args.samples < 0 or args.views < 1 or args.steps < 0:
        raise ConfigError("--samples and --steps are 0 or more, --views at least 1.")
    from fl_runs.prediction import predict, write_predictions

    predictions = predict(
        Path(args.folder), data=args.data, samples=args.samples, view_pairs=args.views, steps=args.steps
    )
    for line in predictions.told():
        print(line)
    if args.out:
        out = Path(args.out)
        write_predictions(out, predictions)
        print(f"Wrote {len(predictions.chosen)} predictions to {out}.")
    return 0
