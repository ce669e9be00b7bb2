"""Trackers (`--track`): what a run records, in the tools in which people already look at their runs. One file per tracker."""
