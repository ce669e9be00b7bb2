"""`fedloom partition`: how a data set would be split among clients, as a table, a picture and figures of skew."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedloom.cli.flags import AddCommand, add_options, given_options
from fl_config.errors import ConfigError
from fl_config.files import write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ROWS = 50  # clients in the table on the terminal


def register(command: AddCommand) -> None:
    parser = command("partition", command_partition, "show how data would be split: a picture, a table, skew figures")
    add_options(parser, ["dataset", "label", "partition", "clients", "seed", "min-samples", "plugin"])
    parser.add_argument(
        "--out",
        dest="picture",  # `out` is an option of a run: its folder
        metavar="FILE",
        default="partition.html",
        help="the picture: .html or .png (default: partition.html)",
    )


def command_partition(args: argparse.Namespace) -> int:
    picture = Path(args.picture)
    if picture.suffix not in (".html", ".png"):
        raise ConfigError(f"--out is the picture's file and ends in .html or .png, but {picture} was given.")
    from fl_data import skew
    from fl_data.division import clients_of, dataset_of, shown_clients, shown_counts
    from fl_runs.plan import make_plan

    config = make_plan(given_options(args)).config
    dataset = dataset_of(config)
    count, names = clients_of(config, dataset)
    config = config.model_copy(update={"clients": count})
    counts = shown_counts(config, dataset)
    figures = skew(counts)
    shown = shown_clients(count)
    clients = [names[client] if names else client for client in shown]
    if len(shown) < count:
        print(f"{len(shown)} of {count:,} clients are shown, spread evenly over all; the figures are theirs.")
    print_table(counts, dataset.class_names, figures, clients)
    print(
        f"Distance of a client's labels to the global ones, on average: KL {figures['mean_kl']:.4f}, "
        f"total variation {figures['mean_tv']:.4f}."
    )
    draw(counts.tolist(), list(dataset.class_names), clients, f"{config.dataset}, {config.partition}", picture)
    print(f"Wrote the picture to {picture}.")
    return 0


def print_table(
    counts: NDArray[Any], class_names: Sequence[str], figures: Mapping[str, Any], clients: Sequence[Any]
) -> None:
    """One row per client: its samples of each class, and how far its labels are from the global ones."""
    from rich.console import Console
    from rich.table import Table

    table = Table("client", *class_names, "samples", "KL", "TV", box=None, pad_edge=False)
    for client, row in enumerate(counts[:MOST_ROWS]):
        table.add_row(
            str(clients[client]),
            *map(str, row.tolist()),
            str(int(row.sum())),
            f"{figures['kl'][client]:.3f}",
            f"{figures['tv'][client]:.3f}",
        )
    Console(width=max(120, 8 * (len(class_names) + 4))).print(table)
    if len(counts) > MOST_ROWS:
        print(f"... and {len(counts) - MOST_ROWS} more clients.")


def draw(
    counts: Sequence[Sequence[int]], class_names: Sequence[str], clients: Sequence[Any], title: str, picture: Path
) -> None:
    from simulation.report.pictures.partition import partition_figure, partition_png

    if picture.suffix == ".png":
        partition_png(counts, class_names, clients, picture)
        return
    from simulation.report.page import filled
    from simulation.report.panel import Panel

    caption = "Examples of each class that each client holds, and above them the client's total."
    panel = Panel(caption, {"": partition_figure(counts, class_names, clients)})
    write_atomically(picture, filled([("Who holds what", panel)], title=title).encode())
