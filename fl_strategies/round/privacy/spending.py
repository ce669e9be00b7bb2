"""What a run has released so far: how many rounds, and how often each client was part of one.

A part of the run's state, so that a resumed run goes on counting. Where the noise is drawn anew each time, what was released after
the last checkpoint counts as well, although the run does not remember it: a `Journal` writes every release down before it is made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fl_config.errors import ConfigError
from fl_config.files import naming
from fl_protocol.types import ClientId, State
from fl_strategies.population.tally import Tally

KEY = "differential privacy"  # under which a run's state has it


@dataclass(frozen=True)
class Ledger:
    noise: float  # the noise multiplier of all releases
    rounds: int = 0
    times: Tally = field(default_factory=Tally)

    @classmethod
    def read(cls, own: State, noise: float) -> Ledger:
        """What `write` has written; `noise` is that of a run which begins."""
        return cls(float(own["noise"]), int(own["rounds"]), Tally.read(own, "times")) if own else cls(noise)

    def write(self) -> State:
        return {"noise": np.array(self.noise), "rounds": np.array(self.rounds), **self.times.write("times")}

    def after(self, clients: Iterable[ClientId]) -> Ledger:
        """With one release more, of these clients."""
        times = self.times.copy()
        times.update({client: times.get(client, 0) + 1 for client in clients})
        return replace(self, rounds=self.rounds + 1, times=times)

    @property
    def most(self) -> int:
        """How often the client was part of a release that was so most often."""
        return self.times.largest()


class Journal:
    """Releases in a file of the run folder, one line each, on the disk before the release is made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger: Ledger | None = None
        content = path.read_bytes() if path.exists() else b""
        whole = content.rpartition(b"\n")[0]
        if content and not content.endswith(b"\n"):  # a kill cut it short, so that what it announces was never made
            os.truncate(path, len(whole) + bool(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                told = json.loads(line)
                self.ledger = (self.ledger or Ledger(float(told["noise"]))).after(told["clients"])
            except (ValueError, KeyError, TypeError):
                raise ConfigError(
                    f"{path}, line {number} cannot be read, so what this run has spent of its privacy budget is not known: restore "
                    "the file, or start the run anew."
                ) from None

    def add(self, round: int, ledger: Ledger, clients: Iterable[ClientId]) -> None:
        """Write down that `ledger` is now what was released, the last of it in this round."""
        line = json.dumps({"round": round, "noise": ledger.noise, "clients": list(clients)}) + "\n"
        with naming(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.ledger = ledger
