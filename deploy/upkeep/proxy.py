"""Sites that reach the outside only through a proxy: HTTPS_PROXY, as far as gRPC follows it, and never for this host's own loopback.

gRPC asks such a proxy for a tunnel (HTTP CONNECT), inside which its TLS is the same as without: the proxy sees neither keys nor
models. It reads the variable in small letters only, and knows proxies that are spoken to in plain HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping

from fl_config.errors import ConfigError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def for_proxies(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables to add to these, so that gRPC finds the proxy and the loopback is spoken to directly."""
    given = {name: variables.get(name) or variables.get(name.upper(), "") for name in ("https_proxy", "no_proxy")}
    listed = [word.strip() for word in given["no_proxy"].split(",") if word.strip()]
    around = ",".join([*listed, *(host for host in LOOPBACK if host not in listed)])
    added = {"no_proxy": around, "NO_PROXY": around}
    return added | ({"https_proxy": given["https_proxy"]} if given["https_proxy"] else {})


def check_proxy(variables: Mapping[str, str]) -> None:
    """A proxy that gRPC would pass over without a word is an error."""
    given = variables.get("https_proxy") or variables.get("HTTPS_PROXY", "")
    if given and not given.startswith("http://"):
        raise ConfigError(
            f"A client reaches the server through HTTP proxies only, such as http://proxy.example.org:3128, but HTTPS_PROXY is "
            f"{given!r}."
        )
