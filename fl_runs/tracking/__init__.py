"""Trackers (`--track`): what a run records, in the tools in which people already look at their runs. One file per tracker.

`site_book.py` is the exception: it keeps what the sites of a deployed run say of themselves.
"""
