"""The `fedloom` command: one file per command."""
