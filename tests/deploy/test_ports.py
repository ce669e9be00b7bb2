"""Ports that nobody has, and a sentence about those that somebody has."""

from __future__ import annotations

import socket

import pytest

from deploy.ports import LOOPBACK, check_free, hold_free_port
from fl_config.errors import ConfigError


def test_a_held_port_is_given_to_nobody_else_but_can_be_listened_at() -> None:
    held = [hold_free_port() for _ in range(50)]
    assert len({port for _, port in held}) == 50
    _, port = held[0]
    refused = pytest.raises(ConfigError, match=f"--port {LOOPBACK}:{port} cannot be used on this host")
    with socket.create_server((LOOPBACK, port)), refused:  # as asyncio's servers do, it may use the address again
        check_free(LOOPBACK, port, "--port")
    check_free(LOOPBACK, port, "--port")
    for holder, _ in held:
        holder.close()


def test_an_address_of_another_host_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="--fleet 192.0.2.1:9092 cannot be used on this host"):
        check_free("192.0.2.1", 9092, "--fleet")
