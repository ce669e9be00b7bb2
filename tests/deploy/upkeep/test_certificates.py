"""Certificates that expire: a warning in time, a sentence when it is too late, and new ones for the old keys."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from deploy.keys import make_keys
from deploy.upkeep import certificates
from deploy.upkeep.certificates import check_valid, renew_authority, renew_server, served_until, valid_until, warning
from fl_config.errors import ConfigError

YEAR = timedelta(days=365)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], Path]:
    """Keys of a federation that was made so long ago."""

    def make(age: timedelta) -> Path:
        then = datetime.now(UTC) - age
        with monkeypatch.context() as context:
            context.setattr(certificates, "now", lambda: then)
            make_keys(tmp_path, ["127.0.0.1", "fed.example.org"], ["site-a"])
        return tmp_path

    return make


@contextmanager
def listening(folder: Path) -> Iterator[int]:
    """A server that shows the federation's certificate; yields its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server" / "server.crt", folder / "server" / "server.key")
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as server:

        def shake() -> None:
            try:
                with context.wrap_socket(server.accept()[0], server_side=True) as secured:
                    secured.recv(1)
            except OSError:
                return  # the client did not like the certificate

        thread = threading.Thread(target=shake)
        thread.start()
        yield server.getsockname()[1]
        thread.join(60)


def test_a_warning_comes_30_days_before(made: Callable[[timedelta], Path]) -> None:
    folder = made(2 * YEAR - timedelta(days=29, hours=12))
    told = check_valid(folder / "server" / "server.crt", "The server's", "renew it")
    assert (
        told is not None
        and told.startswith("The server's certificate expires in 29 days, on ")
        and told.endswith(": renew it.")
    )
    assert check_valid(folder / "server" / "ca.crt", "The authority's", "renew it") is None


def test_an_expired_one_is_a_sentence(made: Callable[[timedelta], Path]) -> None:
    folder = made(2 * YEAR + timedelta(days=1))
    with pytest.raises(ConfigError, match=r"The server's certificate expired on .*server\.crt\): renew it\."):
        check_valid(folder / "server" / "server.crt", "The server's", "renew it")
    (folder / "server" / "server.crt").write_text("no certificate")
    with pytest.raises(ConfigError, match="no certificate that can be read"):
        valid_until(folder / "server" / "server.crt")


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (timedelta(days=31), None),
        (timedelta(hours=3), "X expires today"),
        (timedelta(days=1, hours=1), "X expires in 1 day, on"),
    ],
)
def test_what_is_told(left: timedelta, told: str | None) -> None:
    found = warning("X", datetime.now(UTC) + left)
    assert (found is None) == (told is None) and (told or "").replace("X ", "X certificate ") in (found or "")


def test_what_a_server_shows_can_be_seen_from_elsewhere(made: Callable[[timedelta], Path]) -> None:
    folder = made(timedelta(0))
    with listening(folder) as port:
        assert served_until("127.0.0.1", port, folder / "clients" / "site-a" / "ca.crt", 60) == valid_until(
            folder / "server" / "server.crt"
        )


def test_an_expired_one_that_a_server_shows_is_a_sentence_until_it_is_renewed(
    made: Callable[[timedelta], Path],
) -> None:
    folder = made(3 * YEAR)
    authority = folder / "clients" / "site-a" / "ca.crt"
    with listening(folder) as port, pytest.raises(ConfigError, match="has expired: its administrator"):
        served_until("127.0.0.1", port, authority, 60)
    renew_server(folder)
    with listening(folder) as port:
        assert served_until("127.0.0.1", port, authority, 60) == valid_until(folder / "server" / "server.crt")


def test_nobody_there_says_nothing(made: Callable[[timedelta], Path]) -> None:
    assert served_until("127.0.0.1", 9, made(timedelta(0)) / "server" / "ca.crt", 5) is None


def test_a_renewed_server_keeps_its_key_and_its_names(made: Callable[[timedelta], Path]) -> None:
    folder = made(2 * YEAR)
    place = folder / "server" / "server.crt"
    old, key = certificates.read_certificate(place), (folder / "server" / "server.key").read_bytes()
    assert renew_server(folder) == place
    new = certificates.read_certificate(place)
    names = [one.extensions.get_extension_for_class(x509.SubjectAlternativeName) for one in (old, new)]
    assert names[0] == names[1] and old.public_key() == new.public_key() and old.subject == new.subject
    assert new.not_valid_after_utc > datetime.now(UTC) + YEAR and new.serial_number != old.serial_number
    new.verify_directly_issued_by(certificates.read_certificate(folder / "clients" / "site-a" / "ca.crt"))
    assert (folder / "server" / "server.key").read_bytes() == key and place.stat().st_mode & 0o777 == 0o600


def test_a_renewed_authority_fits_the_old_hosts_and_the_new(made: Callable[[timedelta], Path]) -> None:
    folder = made(9 * YEAR)
    old = (folder / "clients" / "site-a" / "ca.crt").read_bytes()
    keys = {path: path.read_bytes() for path in folder.rglob("*.key")}
    written = renew_authority(folder)
    renew_server(folder)
    assert {path.parent.name for path in written} == {"authority", "server", "site-a"}
    assert {path: path.read_bytes() for path in folder.rglob("*.key")} == keys
    assert valid_until(folder / "authority" / "ca.crt") > datetime.now(UTC) + 9 * YEAR
    (folder / "old.crt").write_bytes(old)
    for authority in ("old.crt", "clients/site-a/ca.crt"):
        with listening(folder) as port:
            assert served_until("127.0.0.1", port, folder / authority, 60) is not None, authority


def test_without_the_authority_nothing_is_renewed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no ca\.key"):
        renew_server(tmp_path)
