"""FedLoom: federated learning on data that is not the same everywhere. This is the public Python interface.

    import fedloom

    run = fedloom.run(strategy="feddisco", dataset="digits", clients=5, rounds=10)
    run.frame()["global/accuracy"].plot()
    fedloom.load(run.folder).predict("npz:new.npz")

Options are those of `fedloom run`, with underscores; `model` and `task` may also be classes. For methods of your own:

    from fedloom import Objective, Params, part
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fl_config.our_packages import OUR_NAMES, PARTS, check_names, settle

if TYPE_CHECKING:
    from clients.answers.base import number
    from clients.objectives.base import Objective
    from clients.topologies.base import ClientTopology
    from fedloom.running import load, run
    from fedloom.sweeping import sweep
    from fl_config.params import Params
    from fl_config.parts import half, part
    from fl_data.partitions import scheme
    from fl_runs.result import Run
    from fl_strategies.round.records import Observer as Callback
    from fl_strategies.server_update.base import ServerStep
    from fl_strategies.topologies.base import Topology
    from fl_strategies.weighting.base import Weighting
    from fl_tasks import Classification, Multilabel, Regression, Task, metric

# Where each public name lives; imported on first use, so that `import fedloom` costs nothing.
_HOMES = {
    "Callback": ("fl_strategies.round.records", "Observer"),
    "Classification": ("fl_tasks", "Classification"),
    "ClientTopology": ("clients.topologies.base", "ClientTopology"),
    "Multilabel": ("fl_tasks", "Multilabel"),
    "Objective": ("clients.objectives.base", "Objective"),
    "Params": ("fl_config.params", "Params"),
    "Regression": ("fl_tasks", "Regression"),
    "Run": ("fl_runs.result", "Run"),
    "ServerStep": ("fl_strategies.server_update.base", "ServerStep"),
    "Task": ("fl_tasks", "Task"),
    "Topology": ("fl_strategies.topologies.base", "Topology"),
    "Weighting": ("fl_strategies.weighting.base", "Weighting"),
    "half": ("fl_config.parts", "half"),
    "load": ("fedloom.running", "load"),
    "metric": ("fl_tasks", "metric"),
    "number": ("clients.answers.base", "number"),
    "part": ("fl_config.parts", "part"),
    "run": ("fedloom.running", "run"),
    "scheme": ("fl_data.partitions", "scheme"),
    "sweep": ("fedloom.sweeping", "sweep"),
}
__all__ = [
    "Callback",
    "Classification",
    "ClientTopology",
    "Multilabel",
    "Objective",
    "Params",
    "Regression",
    "Run",
    "ServerStep",
    "Task",
    "Topology",
    "Weighting",
    "half",
    "load",
    "metric",
    "number",
    "part",
    "run",
    "scheme",
    "sweep",
]


settle()  # before anything else of ours is imported: the user's folder may hold a `clients.py`


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    check_names(OUR_NAMES if module.startswith("fedloom.") else PARTS)
    return getattr(importlib.import_module(module), attribute)
