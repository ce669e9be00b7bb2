"""The client's half: one client class, one training loop, and the objectives and optimisers that hook into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clients.client import LocalClient
    from fl_protocol.settings import LocalSettings

__all__ = ["LocalClient", "LocalSettings"]


def __getattr__(name: str) -> Any:
    """Import on first use: the mathematics below this package must not pull in Flower."""
    if name == "LocalClient":
        from clients.client import LocalClient

        return LocalClient
    if name == "LocalSettings":
        from fl_protocol.settings import LocalSettings

        return LocalSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
