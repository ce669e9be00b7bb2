"""Pictures of runs and partitions as plotly figures: pure functions of records that return None where no run has the data.

A configuration keeps its colour, dash and marker in every picture.
"""
