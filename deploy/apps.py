"""The two apps of a deployment: those of any run, except that the server reports every round in its log."""

from __future__ import annotations

from client_app import app as client
from fl_runs.progress import PlainProgress
from server_app import make_app

server = make_app(observers=[PlainProgress()])

__all__ = ["client", "server"]
