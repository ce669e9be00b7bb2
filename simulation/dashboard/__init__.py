"""The dashboard: a local page over a folder of runs, which follows those that are going on."""
