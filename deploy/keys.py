"""Who may talk to whom: a certificate authority, the server's certificate, and one ECDSA key pair per client.

    FOLDER/authority/   ca.key ca.crt              stays with whoever administers the federation
    FOLDER/server/      ca.crt server.crt server.key   goes to the server's host
    FOLDER/clients/X/   ca.crt X.key X.pub         goes to client X's host; only X.pub is needed anywhere else

Every file is created with mode 0600 and never over an existing one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deploy.upkeep.certificates import (
    CURVE,
    address_of,
    authority_certificate,
    general_names,
    pem,
    read_authority,
    server_certificate,
)
from fl_config.errors import ConfigError

LOCAL = ("localhost", "127.0.0.1")  # the server's own processes reach it there
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*")


def make_keys(folder: Path, hosts: Sequence[str], clients: Sequence[str]) -> list[Path]:
    """Make keys for a new federation, or for more clients of one that is there; returns the files that were written.

    `hosts` are the names and addresses by which clients reach the server; without any, no server certificate is made.
    """
    _check(folder, hosts, clients)
    written: list[Path] = []
    authority = folder / "authority"
    if not (authority / "ca.key").exists():
        own = ec.generate_private_key(CURVE)
        written += [
            _write(authority / "ca.key", _pem(own)),
            _write(authority / "ca.crt", pem(authority_certificate(own))),
        ]
    key, certificate = read_authority(authority)
    public = pem(certificate)
    if hosts:
        own = ec.generate_private_key(CURVE)
        signed = server_certificate(own.public_key(), general_names([*hosts, *LOCAL]), key, certificate)
        where = folder / "server"
        written += [_write(where / "ca.crt", public), _write(where / "server.key", _pem(own))]
        written.append(_write(where / "server.crt", pem(signed)))
    for name in clients:
        where = folder / "clients" / name
        private, shared = _client_keys(name)
        written += [_write(where / "ca.crt", public), _write(where / f"{name}.key", private)]
        written.append(_write(where / f"{name}.pub", shared))
    return written


def client_key(folder: Path) -> Path:
    """The one private key in a client's folder; the file's name is the client's name."""
    found = sorted(folder.glob("*.key"))
    if len(found) != 1:
        raise ConfigError(
            f"{folder} has {len(found)} files *.key instead of one: give the folder that `fedloom deploy init` made "
            "for this client (clients/NAME)."
        )
    return found[0]


def public_keys(folder: Path) -> list[Path]:
    """The public keys of all clients of a federation's folder."""
    return sorted(folder.glob("clients/*/*.pub"))


def read_public_key(path: Path) -> tuple[str, ec.EllipticCurvePublicKey]:
    """The name and the key of a file NAME.pub, or NAME.key.pub as ssh-keygen calls it."""
    name = path.name.removesuffix(".pub").removesuffix(".key")
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"A client's name is letters, digits, '.', '_' and '-', but the file is called {path.name!r}."
        )
    try:
        key = serialization.load_ssh_public_key(path.read_bytes())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not key.curve.name.startswith("secp"):
        raise ConfigError(f"{path} is not the public half of an ECDSA key; `ssh-keygen -t ecdsa -b 384` makes one.")
    return name, key


def _check(folder: Path, hosts: Sequence[str], clients: Sequence[str]) -> None:
    if not hosts and not clients:
        raise ConfigError("Say what to make keys for: --server NAME_OR_ADDRESS,... and --clients NAME,....")
    for name in clients:
        if not NAME.fullmatch(name):
            raise ConfigError(f"A client's name is letters, digits, '.', '_' and '-', but {name!r} was given.")
        if (folder / "clients" / name).exists():
            raise ConfigError(
                f"{folder / 'clients' / name} exists already, and nothing is overwritten: move it away first."
            )
    if len(set(clients)) < len(clients):
        raise ConfigError(f"Every client needs a name of its own, but {', '.join(clients)} was given.")
    for host in hosts:
        if not HOST.fullmatch(host) and address_of(host) is None:
            raise ConfigError(f"The server's name is a host name or an address without a port, but {host!r} was given.")
    if hosts and (folder / "server").exists():
        raise ConfigError(f"{folder / 'server'} exists already, and nothing is overwritten: move it away first.")
    authority = folder / "authority"
    if authority.exists() and not ((authority / "ca.key").exists() and (authority / "ca.crt").exists()):
        raise ConfigError(f"{authority} lacks ca.key or ca.crt: bring them back, or choose another folder.")
    if not hosts and not authority.exists():
        raise ConfigError(f"{folder} has no authority yet: give --server NAME_OR_ADDRESS,... as well.")


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    return path


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _client_keys(name: str) -> tuple[bytes, bytes]:
    """A new private key and its public key in OpenSSH's form, which Flower reads."""
    key = ec.generate_private_key(CURVE)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private, public + f" {name}\n".encode()
