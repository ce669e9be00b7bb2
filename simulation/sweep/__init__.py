"""Sweeps: many runs that differ in strategy, grid point and seed, side by side, and gone on with where they were stopped."""
