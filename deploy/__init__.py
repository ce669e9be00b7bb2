"""Server and clients on separate hosts: keys, launchers, submitting a run."""
