"""The client's half of what is summed under masks: small vectors, and whole updates with recovery from dropouts."""
