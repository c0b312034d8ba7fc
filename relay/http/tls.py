"""TLS contexts from the files that a user names, with errors that name the option."""

from __future__ import annotations

import ssl

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


def explain(error: ssl.SSLError) -> str:
    """Say what a failure of TLS itself means, with OpenSSL's name for it."""
    match error.reason:
        case "WRONG_VERSION_NUMBER" | "HTTP_REQUEST" | "RECORD_LAYER_FAILURE":
            return "the server does not speak TLS; is it an http:// URL?"
        case str() as reason if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
            return f"the server refused ({reason}); it may want a client certificate: --cert"
        case reason:
            return reason or str(error)


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
