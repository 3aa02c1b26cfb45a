"""A certificate authority for one lab: real chains, real names, nothing unverified."""

from __future__ import annotations

import base64
import copy
import ipaddress
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = timedelta(days=1)


class CertificateAuthority:
    """Signs certificates and writes them, as PEM, below its directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate_file = directory / "ca.crt"
        certificate = (
            _builder(self._name, self._key.public_key(), _DAY)
            .issuer_name(self._name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(sign_certificates=True), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        self.certificate_file.write_bytes(_pem(certificate))

    def at(self, directory: Path) -> CertificateAuthority:
        """The same one, which writes what it issues below another directory."""
        other = copy.copy(self)
        other.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        return other

    def issue(
        self,
        file_name: str,
        *,
        common_name: str,
        groups: Iterable[str] = (),
        names: Iterable[str] = (),
        addresses: Iterable[str] = (),
        valid_for: timedelta = _DAY,
    ) -> tuple[Path, Path]:
        """A certificate for both ends of TLS, and its key. A negative time makes an expired one."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
            + [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        )
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = (
            _builder(subject, key.public_key(), valid_for)
            .issuer_name(self._name)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if alternatives:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(alternatives), critical=False
            )
        certificate_file = self.directory / f"{file_name}.crt"
        key_file = self.directory / f"{file_name}.key"
        certificate_file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))
        _write_key(key_file, key)
        return certificate_file, key_file


class TokenSigner:
    """The service account key of the lab, which can also sign tokens that have expired."""

    def __init__(self, directory: Path) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.private_key_file = directory / "service-account.key"
        self.public_key_file = directory / "service-account.pub"
        _write_key(self.private_key_file, self._key)
        self.public_key_file.write_bytes(
            self._key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )

    def sign(self, claims: dict[str, object]) -> str:
        """A JSON web token with these claims."""
        parts = [_base64url(json.dumps(part).encode()) for part in ({"alg": "RS256"}, claims)]
        message = ".".join(parts)
        signature = self._key.sign(message.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{message}.{_base64url(signature)}"


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, valid_for: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + valid_for) - _DAY)
        .not_valid_after(now + valid_for)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
