"""TLS contexts from the files that a user names, with errors that name the option."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import cast

from relay.http.errors import TlsConfigError


def tls_context(
    *,
    cacert: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    insecure: bool = False,
) -> ssl.SSLContext:
    """Make the client's side of TLS.

    :param cacert: PEM file of certificate authorities, trusted instead of the system's.
    :param cert: PEM file of the client certificate, and of its key unless ``key`` names it.
    :param insecure: verify neither the server's certificate nor its name.
    :raises TlsConfigError: if a file cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=cacert)
    except OSError as error:  # ssl.SSLError is one
        raise TlsConfigError(
            f"--cacert: {cacert!r} holds no usable certificates ({_reason(error)}); give a PEM file"
        ) from error
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert is not None:
        _load_client_certificate(context, cert, key)
    return context


def facts(tls: ssl.SSLObject) -> Mapping[str, str]:
    """Version, cipher and certificate of a connection, for people."""
    found = {"version": tls.version() or "unknown"}
    if cipher := tls.cipher():
        found["cipher"] = cipher[0]
    certificate = tls.getpeercert() or {}
    for field in ("subject", "issuer"):
        names = cast("tuple[tuple[tuple[str, str], ...], ...]", certificate.get(field, ()))
        if names:
            found[field] = ", ".join(f"{key}={value}" for name in names for key, value in name)
    if expires := certificate.get("notAfter"):
        found["expires"] = str(expires)
    return found


def has_ended(tls: ssl.SSLObject) -> bool:
    """Whether the peer said that nothing more comes (RFC 9112, 9.8): the end of TCP does not."""
    try:
        return tls.read(1) == b""
    except ssl.SSLError:
        return False


def _load_client_certificate(context: ssl.SSLContext, cert: str, key: str | None) -> None:
    option, file = ("--cert", cert) if key is None else ("--key", key)

    def password() -> str:
        # OpenSSL would ask on the terminal, and stdin belongs to the MCP client.
        raise TlsConfigError(f"{option}: the key in {file!r} is encrypted; give it decrypted")

    try:
        context.load_cert_chain(cert, key, password)
    except OSError as error:
        files = repr(cert) if key is None else f"{cert!r} with --key {key!r}"
        raise TlsConfigError(
            f"--cert: {files} cannot be used ({_reason(error)});"
            " give PEM files of a certificate and of its own key"
        ) from error


def _reason(error: OSError) -> str:
    return getattr(error, "reason", None) or error.strerror or str(error)
