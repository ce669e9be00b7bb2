"""Readers of published dataset formats: each takes files and returns checked arrays, and nothing is executed."""
