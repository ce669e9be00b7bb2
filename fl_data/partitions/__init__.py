"""Every `--partition`: how the training samples are divided among clients, one file per partition.

Own code: flwr-datasets' partitioners need a Hugging Face Dataset, and its Dirichlet partitioner redraws without a repair.
"""

import importlib
import pkgutil

from fl_data.partitions.dividing import check_partition_spec, client_names, names_clients, partition
from fl_data.partitions.schemes import SCHEMES, Argument, Parts, Request, forms, scheme

# A partition is found by its file: whoever adds one edits nothing here.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "SCHEMES",
    "Argument",
    "Parts",
    "Request",
    "check_partition_spec",
    "client_names",
    "forms",
    "names_clients",
    "partition",
    "scheme",
]
