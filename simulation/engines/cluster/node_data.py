"""The data of a run on a node: fetched where they are missing, and compared with the driver's by a checksum."""

from __future__ import annotations

import hashlib
from typing import Any

from fl_config.errors import ConfigError
from fl_config.options import options_of_run
from fl_data.division import Division, sizes_of
from fl_data.store import fingerprint
from fl_protocol.code import code_of_client, trust
from fl_tasks import LABELS, load_task


def checksum(run_config: dict[str, Any]) -> str:
    """Of the arrays of the run's data set and of the sizes of its clients, as this machine has them. Raises a sentence."""
    trust()  # it belongs to a simulation, whose user's own data sets and partitions it may need
    config = options_of_run(run_config)
    task = load_task(config.task, code_of_client(config, None).task)
    division = Division.of(config, LABELS[task.family])
    data = division.load()
    arrays = {"x_train": data.x_train, "y_train": data.y_train, "x_test": data.x_test, "y_test": data.y_test}
    return hashlib.sha256(fingerprint(arrays).encode() + sizes_of(division).tobytes()).hexdigest()


def checksum_or_complaint(run_config: dict[str, Any]) -> tuple[str, str]:
    """The checksum, or what is wrong with the data here."""
    try:
        return checksum(run_config), ""
    except (ConfigError, OSError, ValueError) as problem:
        return "", str(problem)
