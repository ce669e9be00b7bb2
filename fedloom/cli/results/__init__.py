"""Commands that read the runs there are."""
