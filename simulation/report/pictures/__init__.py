"""Pictures of runs and partitions, as data that the page's script draws.

They are pure functions of records, and return None where no run has the data. A configuration keeps its colour, dash
and marker in every picture.
"""
