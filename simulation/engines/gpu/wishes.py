"""What the options of a run ask of GPUs: on which device its clients train, and what share of a GPU one of them takes."""

from __future__ import annotations

from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.options import Options
from simulation.engines.gpu.reservations import Share


def clients_device(config: Options) -> str:
    """`--device` for the clients: with `--gpus-per-client 0` not a GPU, unless it is Apple's, which Ray does not count."""
    if config.gpus_per_client != 0 or config.device in ("cpu", "mps"):
        return config.device
    if config.device == "cuda":
        raise ConfigError(
            "--device is cuda, but --gpus-per-client 0 trains clients on the CPU: leave it out, or give a share of a GPU."
        )
    return "auto" if choose_device("auto").type == "mps" else "cpu"


def share_of(config: Options) -> Share:
    """The share of a GPU that Ray is asked for: none for clients that train elsewhere."""
    return 0.0 if config.device in ("cpu", "mps") else config.gpus_per_client


def whole_gpus(config: Options) -> float:
    """The same for Flower's engine, which measures nothing: where there are GPUs, auto gives every client one of its own."""
    share = share_of(config)
    if share != "auto":
        return share
    return 1.0 if choose_device(config.device).type == "cuda" else 0.0
