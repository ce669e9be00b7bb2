"""Certificates and keys: who can read them, what they are good for, and that nothing is ever overwritten."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deploy.keys import client_key, make_keys, public_keys
from fl_config.errors import ConfigError

HOSTS, CLIENTS = ["10.1.2.3", "fed.example.org"], ["site-a", "site-b"]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_host_gets_what_it_needs_and_only_the_owner_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "federation"
    written = make_keys(folder, HOSTS, CLIENTS)
    assert set(written) == set(contents(folder))
    assert {path.stat().st_mode & 0o777 for path in written} == {0o600}
    assert {path.name for path in (folder / "server").iterdir()} == {"ca.crt", "server.crt", "server.key"}
    assert {path.name for path in (folder / "clients" / "site-a").iterdir()} == {"ca.crt", "site-a.key", "site-a.pub"}
    assert client_key(folder / "clients" / "site-b").stem == "site-b"
    assert [path.stem for path in public_keys(folder)] == CLIENTS


def test_the_certificate_names_the_server_and_is_signed_by_the_authority(tmp_path: Path) -> None:
    make_keys(tmp_path, HOSTS, [])
    authority = x509.load_pem_x509_certificate((tmp_path / "authority" / "ca.crt").read_bytes())
    server = x509.load_pem_x509_certificate((tmp_path / "server" / "server.crt").read_bytes())
    server.verify_directly_issued_by(authority)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["fed.example.org", "localhost"]
    addresses = [ipaddress.ip_address(text) for text in ("10.1.2.3", "127.0.0.1")]
    assert names.get_values_for_type(x509.IPAddress) == addresses
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert server.not_valid_after_utc > datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=365)
    key = serialization.load_pem_private_key((tmp_path / "server" / "server.key").read_bytes(), None)
    assert key.public_key() == server.public_key()


def test_a_clients_pair_belongs_together(tmp_path: Path) -> None:
    make_keys(tmp_path, HOSTS, CLIENTS)
    place = tmp_path / "clients" / "site-a"
    private = serialization.load_ssh_private_key((place / "site-a.key").read_bytes(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey) and private.curve.name == "secp384r1"
    assert serialization.load_ssh_public_key((place / "site-a.pub").read_bytes()) == private.public_key()
    other = serialization.load_ssh_public_key((tmp_path / "clients" / "site-b" / "site-b.pub").read_bytes())
    assert other != private.public_key()


def test_nothing_is_overwritten_and_clients_can_be_added(tmp_path: Path) -> None:
    make_keys(tmp_path, HOSTS, CLIENTS)
    before = contents(tmp_path)
    with pytest.raises(ConfigError, match="site-b exists already"):
        make_keys(tmp_path, [], ["site-c", "site-b"])
    with pytest.raises(ConfigError, match="server exists already"):
        make_keys(tmp_path, ["other"], ["site-c"])
    assert contents(tmp_path) == before
    make_keys(tmp_path, [], ["site-c"])
    after = contents(tmp_path)
    assert {path: after[path] for path in before} == before
    assert len(after) == len(before) + 3


@pytest.mark.parametrize(
    ("hosts", "clients", "word"),
    [
        ([], [], "--server"),
        ([], ["a"], "no authority yet"),
        (["10.0.0.1:9092"], [], "without a port"),
        (["a b"], [], "host name"),
        (["h"], ["../x"], "client's name"),
        (["h"], [""], "client's name"),
        (["h"], ["a", "a"], "name of its own"),
    ],
)
def test_wrong_names_are_sentences_and_leave_nothing(
    tmp_path: Path, hosts: list[str], clients: list[str], word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        make_keys(tmp_path / "f", hosts, clients)
    assert not (tmp_path / "f").exists()


def test_a_folder_that_is_no_clients_is_a_sentence(tmp_path: Path) -> None:
    make_keys(tmp_path, HOSTS, CLIENTS)
    with pytest.raises(ConfigError, match="0 files"):
        client_key(tmp_path)
    (tmp_path / "authority" / "ca.crt").unlink()
    with pytest.raises(ConfigError, match="lacks"):
        make_keys(tmp_path, [], ["site-d"])
