"""Clusters of several nodes: which of them may have workers, and what clients remember on nodes without the driver's disk."""
