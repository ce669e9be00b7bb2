"""Datasets, partitions, target distributions and augmentation: what a client trains on and a server evaluates on."""

from fl_data.augment import Augment
from fl_data.dataset import DataError, Dataset
from fl_data.label_skew import label_counts, skew
from fl_data.partitions import check_partition_spec, client_names, names_clients, partition
from fl_data.samples import Samples
from fl_data.store import available, cache_folder, check_dataset_spec, fetch, load
from fl_data.target import check_target_spec, held_out_split, target_indices, target_set
from fl_data.torchvision_shim import import_torchvision

__all__ = [
    "Augment",
    "DataError",
    "Dataset",
    "Samples",
    "available",
    "cache_folder",
    "check_dataset_spec",
    "check_partition_spec",
    "check_target_spec",
    "client_names",
    "fetch",
    "held_out_split",
    "import_torchvision",
    "label_counts",
    "load",
    "names_clients",
    "partition",
    "skew",
    "target_indices",
    "target_set",
]
