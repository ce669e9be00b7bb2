"""The smaller commands: sweep, strategies, data, partition."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fl_config.errors import ConfigError


def register(command: Callable[..., argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Declare the commands of this file; returns the sweep's parser."""
    from fedloom.cli.main import add_options
    from simulation.bench import comparison as bench

    sweep = command("sweep", command_sweep, "run a grid of strategies and seeds, and compare them")
    sweep.add_argument(
        "--strategies", metavar="A,B,...", required=True, help="strategies to compare, separated by commas"
    )
    sweep.add_argument(
        "--seeds",
        metavar="N",
        type=int,
        default=3,
        help="runs of each strategy, with seeds --seed, --seed + 1, ... (default: 3)",
    )
    add_options(sweep)
    strategies = command(
        "strategies", command_strategies, "list every base and plug-in, its paper, parameters and defaults"
    )
    strategies.add_argument(
        "names", nargs="*", metavar="NAME", help="only these, or an expression such as feddyn+disco"
    )
    strategies.add_argument("--json", action="store_true", help="as JSON")
    data = command("data", command_data, "get a data set, or say what is there")
    data.add_argument("action", choices=["fetch", "list"], help="what to do")
    data.add_argument("names", nargs="*", metavar="NAME", help="data sets to fetch")
    partition = command(
        "partition", command_partition, "show how data would be split: a picture, a table, skew figures"
    )
    add_options(partition, ["dataset", "partition", "clients", "seed", "min-samples"])
    partition.add_argument(
        "--out", metavar="FILE", default="partition.html", help="the picture: .html or .png (default: partition.html)"
    )
    predict = command(
        "predict", command_predict, "classify samples with weights learned for each, beside the plain ensemble"
    )
    predict.add_argument("folder", metavar="RUN", help="the folder of a run with --set ssa.mode=sample_wise")
    predict.add_argument(
        "--data", metavar="npz:FILE", default=None, help="what to classify (default: the run's own target set)"
    )
    predict.add_argument(
        "--samples",
        metavar="N",
        type=int,
        default=1000,
        help="how many, drawn by the run's seed; 0 is all (default: 1000)",
    )
    predict.add_argument("--views", metavar="N", type=int, default=4, help="pairs of views a sample (default: 4)")
    predict.add_argument(
        "--steps", metavar="N", type=int, default=100, help="steps of learning a sample (default: 100)"
    )
    predict.add_argument("--out", metavar="FILE", default=None, help="write the predictions as JSON lines")
    bench.add_arguments(
        command(
            "bench", bench.main, "measure speed against the bare loop and Flower's own engine, as ratios in one run"
        )
    )
    return sweep


def command_predict(args: argparse.Namespace) -> int:
    from fl_runs import prediction as predict  # torch is loaded only where it is needed

    return predict.command_predict(args)


# Sweep


def command_sweep(args: argparse.Namespace) -> int:
    from fedloom.cli.main import INTERRUPTED, given_options, show, stoppable
    from fl_runs.progress import progress
    from simulation.report.page import write_report
    from simulation.runner import prepare, run

    names = [name.strip() for name in args.strategies.split(",") if name.strip()]
    if args.seeds < 1 or not names:
        raise ConfigError("A sweep needs at least one strategy and one seed: --strategies fedavg,feddisco --seeds 3.")
    values = given_options(args)
    first = values.get("seed", 0)
    out = Path(values.get("out") or "runs/sweep")
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"The output folder {out} is not empty: choose another --out for the sweep.")
    grid = [
        {**values, "strategy": name, "seed": first + i, "out": str(out / f"{name}-seed{first + i}")}
        for name in names
        for i in range(args.seeds)
    ]
    for one in grid:
        prepare(one)  # every mistake before the first run
    folders: list[Path] = []
    with stoppable() as stop:
        for number, one in enumerate(grid, start=1):
            print(f"[{number}/{len(grid)}] {one['strategy']}, seed {one['seed']}", flush=True)
            with progress() as shown:
                result = run(one, [shown], stop)
            if not result.finished:
                print(f"Stopped; {len(folders)} of {len(grid)} runs are finished, in {out}.", file=sys.stderr)
                return INTERRUPTED
            folders.append(result.folder)
    report = write_report(folders, out / "report.html")
    print_comparison(folders)
    show(report, args.open)
    return 0


def print_comparison(folders: list[Path]) -> None:
    from fl_runs.reading import read_runs
    from simulation.report.page import HEADINGS, comparison_table

    table = Table(*HEADINGS, box=None, pad_edge=False)
    for row in comparison_table(read_runs(folders)):
        table.add_row(*row.cells())
    Console().print(table)


# Strategies


def command_strategies(args: argparse.Namespace) -> int:
    listing = strategy_listing(args.names)
    if args.json:
        print(json.dumps(listing, indent=2))
        return 0
    console = Console()
    for kind in ("bases", "plugins"):
        if not listing[kind]:
            continue
        console.print("Bases" if kind == "bases" else "Plug-ins (after a +)", style="bold")
        for entry in listing[kind]:
            console.print(
                f"  {entry['name']:<12} {entry['what']}" + (f"  [{entry['paper']}]" if entry["paper"] else ""),
                markup=False,
                highlight=False,
            )
            for parameter in entry["parameters"]:
                console.print(
                    f"      {parameter['key']} = {parameter['default']}   {parameter['help']}",
                    markup=False,
                    highlight=False,
                    style="dim",
                )
    return 0


def strategy_listing(names: list[str]) -> dict[str, list[dict[str, Any]]]:
    from fl_strategies.parts import PARTS
    from fl_strategies.recipes import BASES, paper_of, parse, plugins

    PLUGINS = plugins()

    def parameters(parts: tuple[str, ...]) -> list[dict[str, Any]]:
        return [
            {"key": f"{part}.{key}", "default": info.get_default(call_default_factory=True), "help": info.description}
            for part in parts
            for key, info in PARTS[part].params.model_fields.items()
        ]

    def base(name: str) -> dict[str, Any]:
        recipe = parse(name)
        known = BASES.get(name)
        what = (known.title if known else "") or "; ".join(
            PARTS[p].what for p in recipe.parts if p not in ("size", "uniform")
        )
        return {
            "name": name,
            "what": what,
            "paper": paper_of(name),
            "parts": list(recipe.parts),
            "parameters": parameters(recipe.parts),
        }

    if names:
        return {
            "bases": [base(name) for name in names if name not in PLUGINS or name in BASES],
            "plugins": [_plugin(n, parameters) for n in names if n in PLUGINS],
        }
    return {"bases": [base(name) for name in BASES], "plugins": [_plugin(name, parameters) for name in PLUGINS]}


def _plugin(name: str, parameters: Callable[[tuple[str, ...]], list[dict[str, Any]]]) -> dict[str, Any]:
    from fl_strategies.parts import PARTS

    part = PARTS[name]
    return {"name": name, "slot": part.slot, "what": part.what, "paper": part.paper, "parameters": parameters((name,))}


# Data


def command_data(args: argparse.Namespace) -> int:
    from fl_data import available, cache_folder, fetch

    if args.action == "fetch":
        if not args.names:
            raise ConfigError("Name the data sets to fetch, such as: fedloom data fetch fashion-mnist.")
        for name in args.names:
            print(f"{name} is in {fetch(name)}.")
        return 0
    table = Table("name", "here", "size", "classes", "where it comes from", box=None, pad_edge=False)
    for entry in available():
        table.add_row(
            entry["name"],
            "yes" if entry["present"] else "no",
            entry["size"],
            str(entry["classes"]),
            ", ".join(entry["sources"]),
        )
    Console().print(table)
    print(f"The cache folder is {cache_folder()}.")
    return 0


# Partition


def command_partition(args: argparse.Namespace) -> int:
    from fedloom.cli.main import given_options
    from fl_data import load, skew
    from fl_data.division import counts_of
    from fl_runs.plan import make_plan
    from simulation.report.pictures import partition_figure, partition_png

    out = Path(args.out)
    args.out = None  # the picture's file, not a run folder
    if out.suffix not in (".html", ".png"):
        raise ConfigError(f"--out is the picture's file and ends in .html or .png, but {out} was given.")
    config = make_plan(given_options(args)).config
    dataset = load(config.dataset)
    counts = counts_of(config, dataset)
    figures = skew(counts)
    table = Table("client", *dataset.class_names, "samples", "KL", "TV", box=None, pad_edge=False)
    shown = range(min(len(counts), 50))
    for client in shown:
        row = counts[client]
        table.add_row(
            str(client),
            *map(str, row.tolist()),
            str(int(row.sum())),
            f"{figures['kl'][client]:.3f}",
            f"{figures['tv'][client]:.3f}",
        )
    Console(width=max(120, 8 * (len(dataset.class_names) + 4))).print(table)
    if len(counts) > len(shown):
        print(f"... and {len(counts) - len(shown)} more clients.")
    print(
        f"Distance of a client's labels to the global ones, on average: KL {figures['mean_kl']:.4f}, total variation {figures['mean_tv']:.4f}."
    )
    ids = list(range(config.clients))
    if out.suffix == ".png":
        partition_png(counts.tolist(), list(dataset.class_names), ids, out)
    else:
        partition_figure(
            counts.tolist(), list(dataset.class_names), ids, title=f"{config.dataset}, {config.partition}"
        ).write_html(out, include_plotlyjs=True)
    print(f"Wrote the picture to {out}.")
    return 0
