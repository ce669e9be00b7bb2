"""Who gets and gives which arrays, the server's half: one file per topology."""
