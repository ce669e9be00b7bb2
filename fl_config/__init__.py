"""What everything else stands on: the options of a run, the parameters of a part, and seeded randomness."""
