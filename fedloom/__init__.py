"""FedLoom: federated learning on data that is not the same everywhere."""
