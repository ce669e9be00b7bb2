"""Datasets, partitions, target distributions and augmentation: what a client trains on and a server evaluates on."""
