"""What keeps a federation going over months: log files that stay small, certificates that are renewed, backups, proxies."""

DATABASE = "federation.db"  # in the server's folder, beside the run folders
