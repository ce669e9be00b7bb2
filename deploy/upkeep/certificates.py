"""The certificates of a federation: the authority's and the server's, how long they are valid, and new ones in time.

A renewed certificate has the key of the one before. So nothing has to happen at once: a server's certificate counts with the
authority's old certificate as with the new one, and clients' own keys are not concerned at all.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fl_config.errors import ConfigError
from fl_config.files import write_atomically

CURVE = ec.SECP384R1()
AUTHORITY_YEARS, SERVER_YEARS = 10, 2
SOON = timedelta(days=30)
AUTHORITY = "FedLoom federation"
CLOCKS_DIFFER = timedelta(hours=1)
EXPIRED = 10  # OpenSSL's X509_V_ERR_CERT_HAS_EXPIRED


def now() -> datetime:
    return datetime.now(UTC)


# Validity


def valid_until(path: Path) -> datetime:
    return read_certificate(path).not_valid_after_utc


def served_until(host: str, port: int, authority: Path, patience: float) -> datetime | None:
    """How long the certificate is valid that a server shows; None where none is shown within so many seconds.

    One that has expired is a ConfigError.
    """
    context = ssl.create_default_context(cafile=str(authority))
    context.set_alpn_protocols(["h2"])  # or gRPC hangs up
    try:
        with (
            socket.create_connection((host, port), timeout=patience) as opened,
            context.wrap_socket(opened, server_hostname=host) as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == EXPIRED:
            raise ConfigError(
                f"The certificate of the server at {host}:{port} has expired: its administrator makes a new one with `fedloom deploy "
                "renew` and starts the server again."
            ) from None
        return None
    except OSError:
        return None
    return x509.load_der_x509_certificate(shown).not_valid_after_utc if shown else None


def warning(whose: str, until: datetime) -> str | None:
    """A sentence about a certificate that expires soon, or has; None where there is time."""
    left = until - now()
    if left > SOON:
        return None
    when = f"{until:%d %B %Y}"
    if left <= timedelta(0):
        return f"{whose} certificate expired on {when}"
    days = "today" if left.days < 1 else f"in {left.days} day{'s' * (left.days > 1)}, on {when}"
    return f"{whose} certificate expires {days}"


def check_valid(path: Path, whose: str, remedy: str) -> str | None:
    """A certificate that has expired is an error; returns a warning about one that soon will."""
    until = valid_until(path)
    told = warning(whose, until)
    if told is not None and until <= now():
        raise ConfigError(f"{told} ({path}): {remedy}.")
    return None if told is None else f"{told}: {remedy}."


# Renewal


def renew_server(folder: Path) -> Path:
    """A new certificate for the server's key and names, in place of the old one."""
    key, authority = read_authority(folder / "authority")
    place = folder / "server" / "server.crt"
    old = read_certificate(place)
    names = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    public = old.public_key()
    assert isinstance(public, ec.EllipticCurvePublicKey)
    _replace(place, server_certificate(public, list(names), key, authority))
    return place


def renew_authority(folder: Path) -> list[Path]:
    """A new certificate for the authority's key, in place of each old one in the federation's folder."""
    key, _ = read_authority(folder / "authority")
    made = authority_certificate(key)
    places = [folder / "authority" / "ca.crt", folder / "server" / "ca.crt", *sorted(folder.glob("clients/*/ca.crt"))]
    there = [place for place in places if place.exists()]
    for place in there:
        _replace(place, made)
    return there


def _replace(place: Path, certificate: x509.Certificate) -> None:
    write_atomically(place, pem(certificate))
    place.chmod(0o600)


# Making them


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def read_certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"There is no certificate {path}; `fedloom deploy init` makes it.") from None
    except ValueError as error:
        raise ConfigError(f"{path} is no certificate that can be read ({error}): bring the right file back.") from None


def read_authority(folder: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    if not (folder / "ca.key").is_file():
        raise ConfigError(
            f"There is no ca.key in {folder}: certificates are made where the authority is, in the folder of `fedloom deploy init`."
        )
    key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key, read_certificate(folder / "ca.crt")


def general_names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    """Names and addresses as a certificate has them, each once."""
    names: list[x509.GeneralName] = []
    for host in dict.fromkeys(hosts):
        address = address_of(host)
        names.append(x509.DNSName(host) if address is None else x509.IPAddress(address))
    return names


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def authority_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return (
        _builder(AUTHORITY, key.public_key(), AUTHORITY_YEARS)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY)]))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA384())
    )


def server_certificate(
    public: ec.EllipticCurvePublicKey,
    names: Sequence[x509.GeneralName],
    authority: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate,
) -> x509.Certificate:
    return (
        _builder(str(names[0].value), public, SERVER_YEARS)
        .issuer_name(issuer.subject)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()),
            critical=False,
        )
        .sign(authority, hashes.SHA384())
    )


def _builder(subject: str, public: ec.EllipticCurvePublicKey, years: int) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - CLOCKS_DIFFER)
        .not_valid_after(now() + timedelta(days=365 * years))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
