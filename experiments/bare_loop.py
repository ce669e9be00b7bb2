"""FedAvg of NIID-Bench as a plain PyTorch loop, to tell whether a difference to a published figure is ours.

    python -m experiments.bare_loop --orders ours --rounds 3      our initial model and order of batches: the same figures, but for rounding
    python -m experiments.bare_loop --orders own --rounds 50      its own: what another draw of both gives on the same split
    python -m experiments.bare_loop --compare                     what is there, beside the kept results of `fedloom reproduce`

The split is drawn here once more, from its description; optimizer and average are PyTorch's own, and the network is the bench's, written out in
plain PyTorch. Our code reads the arrays of the data set and, for `--orders ours`, gives the initial model and the seeds of the batches. Results are
JSON files in `experiments/bare/`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from experiments.measure import markdown
from fl_config.options import options
from fl_config.seeds import derive
from fl_data import load
from fl_models.spec import initial_state, model_spec
from simulation.bench.loop import Samples, plain_model
from simulation.reproduce.kept_results import origin, read_results

KEPT = Path("experiments/bare")
LEAST = 10  # samples of a client
SHOWN = (1, 2, 3, 5, 10, 20, 30, 40, 50)  # rounds
State = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Setting:
    """Of the published row, unless a test wants less."""

    dataset: str = "fashion-mnist"
    seed: int = 42
    orders: str = "ours"
    beta: float = 0.5
    clients: int = 10
    epochs: int = 10
    batch_size: int = 64
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 1e-5


def split(labels: np.ndarray, clients: int, beta: float, seed: int) -> list[np.ndarray]:
    """Class by class a Dirichlet draw, in which clients that are full get nothing; again until each has ten samples."""
    draw = np.random.default_rng(seed)
    while True:
        parts: list[list[int]] = [[] for _ in range(clients)]
        for label in range(10):
            pool = np.where(labels == label)[0]
            draw.shuffle(pool)
            shares = draw.dirichlet([beta] * clients)
            shares = np.array(
                [share * (len(part) < len(labels) / clients) for share, part in zip(shares, parts, strict=True)]
            )
            cuts = (np.cumsum(shares / shares.sum()) * len(pool)).astype(int)[:-1]
            for part, piece in zip(parts, np.split(pool, cuts), strict=True):
                part.extend(piece.tolist())
        if min(map(len, parts)) >= LEAST:
            return [np.sort(part) for part in parts]


def first_state(setting: Setting) -> State:
    if setting.orders == "own":
        torch.manual_seed(setting.seed)
        return plain_model("lenet").state_dict()
    config = options({"model": "lenet", "dataset": setting.dataset, "seed": setting.seed})
    arrays = initial_state(model_spec(config, load(setting.dataset), projection=0)).values()
    return dict(zip(plain_model("lenet").state_dict(), (torch.tensor(array) for array in arrays), strict=True))


def order(setting: Setting, round: int, client: int) -> torch.Generator:
    purpose = "batches" if setting.orders == "ours" else "bare"
    return torch.Generator().manual_seed(derive(setting.seed, purpose, round, client))


def samples(setting: Setting) -> tuple[list[Samples], Samples]:
    """Of each client, and for the test."""
    data = load(setting.dataset)
    x, y = (torch.tensor(np.asarray(part)) for part in (data.x_train, data.y_train))
    parts = split(y.numpy(), setting.clients, setting.beta, setting.seed)
    test = torch.tensor(np.asarray(data.x_test)).float() / 255, torch.tensor(np.asarray(data.y_test)).long()
    return [(x[part].float() / 255, y[part].long()) for part in parts], test


held: list[Samples] = []


def hold(setting: Setting) -> None:
    """In each worker: the samples of all clients."""
    torch.set_num_threads(1)
    held.extend(samples(setting)[0])


def trained(setting: Setting, round: int, client: int, state: State) -> State:
    x, y = held[client]
    model = plain_model("lenet")
    model.load_state_dict(state)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=setting.lr, momentum=setting.momentum, weight_decay=setting.weight_decay
    )
    draws = order(setting, round, client)
    for _ in range(setting.epochs):
        for index in torch.split(torch.randperm(len(y), generator=draws), setting.batch_size):
            optimizer.zero_grad()
            F.cross_entropy(model(x[index]), y[index]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return model.state_dict()


def rounds(setting: Setting, workers: int) -> Iterator[tuple[State, float]]:
    """The global model and its accuracy after each round, first the initial ones; without an end."""
    state, model = first_state(setting), plain_model("lenet")
    parts, (x, y) = samples(setting)
    weights = torch.tensor([len(labels) for _, labels in parts]) / sum(len(labels) for _, labels in parts)
    largest_first = sorted(range(setting.clients), key=lambda client: -len(parts[client][1]))
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=hold, initargs=(setting,)) as pool:
        round = 0
        while True:
            model.load_state_dict(state)
            with torch.no_grad():
                right = sum(
                    int((model(x[i : i + 500]).argmax(1) == y[i : i + 500]).sum()) for i in range(0, len(y), 500)
                )
            yield state, right / len(y)
            round += 1
            jobs = {client: pool.submit(trained, setting, round, client, state) for client in largest_first}
            done = [jobs[client].result() for client in range(setting.clients)]
            state = {name: sum(w * one[name] for w, one in zip(weights, done, strict=True)) for name in state}  # type: ignore[misc]


def measure(setting: Setting, count: int, workers: int) -> None:
    accuracy = []
    for number, (_, score) in zip(range(count + 1), rounds(setting, workers), strict=False):
        accuracy.append(score)
        print(f"round {number}/{count}  accuracy {score:.4f}", flush=True)
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{setting.dataset}-{setting.orders}-seed{setting.seed}.json"
    path.write_text(json.dumps({"setting": asdict(setting), "accuracy": accuracy, "made": origin()}, indent=1) + "\n")


def compared(kept: Sequence[Path], results: Path) -> str:
    """Accuracies in % of bare loops and of our runs on the same split, after the same rounds."""
    ours = {
        (one.setting.get("dataset", "fashion-mnist"), one.seed): one.curves["global/accuracy"]
        for one in read_results(results).values()
        if one.setting.get("partition") == "capped:0.5" and one.setting.get("strategy", "fedavg") == "fedavg"
    }
    rows = []
    for path in kept:
        result = json.loads(path.read_text())
        bare = dict(enumerate(result["accuracy"]))
        for name, curve in (
            ("bare loop", bare),
            ("ours", ours[result["setting"]["dataset"], result["setting"]["seed"]]),
        ):
            shown = [f"{100 * curve[number]:.2f}" if number in bare else "-" for number in SHOWN]
            rows.append([path.stem, name, *shown])
    return markdown(["run", "by", *map(str, SHOWN)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="NIID-Bench's FedAvg as a plain PyTorch loop.")
    parser.add_argument(
        "--orders", choices=("ours", "own"), default="ours", help="whose initial model and order of batches"
    )
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--compare", action="store_true", help="only show what is there")
    given = parser.parse_args()
    if given.compare:
        print(compared(sorted(KEPT.glob("*.json")), Path("experiments/results")))
    else:
        measure(Setting(orders=given.orders, seed=given.seed), given.rounds, given.workers)


if __name__ == "__main__":
    main()
