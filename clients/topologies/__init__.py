"""Who gets and gives which arrays, the client's half: one file per topology."""
