"""Published figures, and ours beside them: the tables as data, the runs, their results, and the verdicts."""
