"""A site behind a proxy: gRPC's TLS goes through its tunnel, and the loopback does not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from deploy.keys import make_keys
from deploy.upkeep.proxy import check_proxy, for_proxies
from fl_config.errors import ConfigError

FAR = "127.0.0.2"  # of this host, but none of the names that are never asked for at a proxy
CALL = """
import sys
from flwr.supercore.grpc import create_channel
address, authority = sys.argv[1:]
channel = create_channel(address, insecure=False, root_certificates=open(authority, "rb").read())
print(channel.unary_unary("/test/Echo")(b"hello", timeout=60, wait_for_ready=True).decode())
"""


class ConnectProxy:
    """The least that a proxy can be: CONNECT HOST:PORT, then bytes to and fro."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                inner, _ = self.socket.accept()
            except OSError:
                return  # it is closed
            threading.Thread(target=self._tunnel, args=(inner,), daemon=True).start()

    def _tunnel(self, inner: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += inner.recv(4096)
        method, place = head.split()[:2]
        self.asked.append(f"{method.decode()} {place.decode()}")
        host, _, port = place.decode().rpartition(":")
        outer = socket.create_connection((host, int(port)))
        inner.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for ends in ((inner, outer), (outer, inner)):
            threading.Thread(target=self._carry, args=ends, daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            return  # one of the two has hung up


@contextmanager
def echoing(folder: Path, host: str) -> Iterator[str]:
    """A gRPC server with the federation's certificate; yields its address."""
    make_keys(folder, [host], [])
    echo = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test", {"Echo": echo})])
    pair = ((folder / "server" / "server.key").read_bytes(), (folder / "server" / "server.crt").read_bytes())
    port = server.add_secure_port(f"{host}:0", grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        yield f"{host}:{port}"
    finally:
        server.stop(None)


@pytest.mark.parametrize("host", [FAR, "127.0.0.1"])
def test_grpc_goes_through_the_proxy_and_the_loopback_around_it(tmp_path: Path, host: str) -> None:
    proxy = ConnectProxy()
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    given = own | {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}"}
    with echoing(tmp_path, host) as address:
        words = [sys.executable, "-c", CALL, address, str(tmp_path / "server" / "ca.crt")]
        called = subprocess.run(
            words, env=given | for_proxies(given), capture_output=True, text=True, timeout=240, check=False
        )
    assert called.stdout == "hello\n", called.stderr
    assert proxy.asked == ([f"CONNECT {address}"] if host == FAR else [])
    proxy.socket.close()


def test_what_the_user_excludes_stays_excluded() -> None:
    added = for_proxies({"NO_PROXY": "example.org, 127.0.0.1", "HTTPS_PROXY": "http://p:1"})
    assert added == {
        "https_proxy": "http://p:1",
        "no_proxy": "example.org,127.0.0.1,localhost,::1",
        "NO_PROXY": "example.org,127.0.0.1,localhost,::1",
    }
    assert (
        for_proxies({"https_proxy": "http://small:1", "HTTPS_PROXY": "http://large:1"})["https_proxy"]
        == "http://small:1"
    )
    assert "https_proxy" not in for_proxies({})


def test_a_proxy_that_grpc_does_not_know_is_a_sentence() -> None:
    check_proxy({})
    check_proxy({"HTTPS_PROXY": "http://p:1"})
    with pytest.raises(ConfigError, match="'socks5://p:1'"):
        check_proxy({"HTTPS_PROXY": "socks5://p:1"})
