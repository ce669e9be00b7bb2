"""The `fedloom` command: one file per command.

A command imports what it needs when it runs, so that `fedloom --help` and a wrong flag are answered at once.
"""
