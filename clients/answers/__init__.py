"""Numbers that a client can be asked for: one file per question."""
