"""Whether everything that a disturbed run wrote down can be explained: who was missing and why, and every number of every round.

The numbers are explained by a replay: the same run in one process, in which exactly those answer who are in the records. Whatever
was killed, cut off or sent in between, it must give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Error, Message
from safetensors.numpy import load_file

import client_app
from fl_config.options import as_flat
from fl_protocol.flower import ErrorCode
from fl_runs.plan import make_plan
from server_app import open_server
from simulation.engines.inline import InlineGrid
from tests.deploy.federation import records

GRACE = 90.0  # seconds after a fault in which its site may still be missing: a busy host takes long to start one
REASONS = (
    "its host is gone: two of its heartbeats were missed",
    "its host was started again after it had taken the message",
    "its host did not take the message or did not answer it in time",
    "the client failed: Its process was killed by SIGKILL.",
    "the client failed: what it sent cannot be read",
)
OF_THE_DAY = {"seconds", "dropped", "bytes_up", "bytes_down"}  # what a replay has otherwise


@dataclass
class Fault:
    kind: str
    site: str  # empty for the server's
    began: float
    ended: float = 0.0  # when what was broken was mended

    def explains(self, site: str, began: float, ended: float) -> bool:
        """Whether a site may be missing in a round of that time."""
        return self.site in ("", site) and self.began <= ended and began <= self.ended + GRACE


def unexplained(
    folder: Path, sites: Sequence[str], rounds: int, faults: Sequence[Fault], began: float, seen: Mapping[int, float]
) -> list[str]:
    """Everything in the records of a run's folder that no fault, no reason and no rule explains; `seen` is when each round was."""
    lines = records(folder)
    wrong = []
    if [line["round"] for line in lines] != list(range(rounds + 1)):
        wrong.append(f"the rounds are {[line['round'] for line in lines]}")
    before = began
    for line in lines[1:]:
        number, cohort = line["round"], line["cohort"]
        dropped = {one["id"]: one["reason"] for one in line["dropped"]}
        ended = seen.get(number, before)
        if set(cohort) & dropped.keys() or len(set(cohort)) != len(cohort):
            wrong.append(f"round {number}: {cohort} and {dropped} overlap")
        if cohort and not (len(line["weights"]) == len(cohort) and abs(sum(line["weights"]) - 1) < 1e-6):
            wrong.append(f"round {number}: the weights are {line['weights']}")
        for site, reason in dropped.items():
            if not reason.startswith(REASONS):
                wrong.append(f"round {number}: {site} is left out for an unknown reason: {reason}")
        for site in set(sites) - set(cohort):
            few = site not in dropped and not cohort  # fewer than the round needs: nobody is used
            if not few and not any(fault.explains(site, before, ended) for fault in faults):
                why = dropped.get(site, "not asked")
                wrong.append(f"round {number}: {site} is missing ({why}), and nothing happened to it")
        before = ended
    if not all(np.isfinite(value).all() for value in load_file(folder / "model.safetensors").values()):
        wrong.append("the model is not finite")
    return wrong


class Recorded(InlineGrid):
    """The same sites in one process; in each round only those of its cohort answer, all of them where there is none for it."""

    def __init__(self, data: Path, sites: Sequence[str], state: Path, config: Any, cohorts: Mapping[int, Any]) -> None:
        super().__init__(client_app.app, len(sites), as_flat(config))
        self.cohorts = cohorts
        for context, site in zip(map(self.context, self.get_node_ids()), sites, strict=True):
            context.node_config = {"name": site, "data": f"npz:{data / site}.npz", "state": str(state / site)}

    def _answer(self, message: Message) -> Message:
        site = self.context(message.metadata.dst_node_id).node_config["name"]
        cohort = self.cohorts.get(int(message.metadata.group_id or 0))
        if cohort is None or site in cohort:
            return super()._answer(message)
        return Message(Error(ErrorCode.NODE_UNAVAILABLE, "It is not in the records."), reply_to=message)


def again(
    data: Path, out: Path, sites: Sequence[str], run: Mapping[str, Any], cohorts: Mapping[int, Any] | None = None
) -> list[dict[str, Any]]:
    """The records of the same run in one process, with these cohorts or undisturbed."""
    plan = make_plan({**run, "dataset": f"npz:{data / 'server.npz'}", "out": str(out)})
    open_server(plan).run(Recorded(data, sites, out / "state", plan.config, cohorts or {}))
    return records(out)


def differing(folder: Path, data: Path, sites: Sequence[str], run: Mapping[str, Any]) -> list[str]:
    """Which numbers of a run's folder a replay with its cohorts does not give to the last bit."""
    lines = records(folder)
    replayed = again(data, data / "replayed", sites, run, {line["round"]: line["cohort"] for line in lines[1:]})
    wrong = []
    for line, other in zip(lines, replayed, strict=True):
        for key in sorted((line.keys() | other.keys()) - OF_THE_DAY):
            if line.get(key) != other.get(key):
                wrong.append(f"round {line['round']}: {key} is {line.get(key)}, but {other.get(key)} in a replay")
    model, same = load_file(folder / "model.safetensors"), load_file(data / "replayed" / "model.safetensors")
    if model.keys() != same.keys() or any(not np.array_equal(model[name], same[name]) for name in model):
        wrong.append("the final model is another one than in a replay")
    return wrong
