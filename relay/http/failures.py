"""What to say of a connection that cannot be made or is lost; loaded when that happens."""

from __future__ import annotations

import socket
import ssl

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.target import Target

# X509_V_ERR_ codes of OpenSSL (openssl-verify(1)) for a chain that ends in nobody we trust.
_UNTRUSTED = frozenset({2, 18, 19, 20, 21})
_EXPIRED = 10
_WRONG_NAME = frozenset({62, 64})


def no_connection(error: OSError, target: Target, timeout: float | None) -> HttpError:
    """What to say of an error of name look-up, TCP or TLS on the way to ``target``."""
    failure = Failure.TLS
    match error:
        case ssl.SSLEOFError():  # TCP ended within the handshake
            failure, detail = Failure.CONNECT, _connect_reason(ConnectionResetError(), target, None)
        case ssl.SSLCertVerificationError():
            refusal = _refusal(error, target)
            detail = f"the certificate of {target.address} is not accepted: {refusal}"
        case ssl.SSLError():
            detail = f"no TLS with {target.address}: {explain(error)}"
        case _:
            failure, detail = Failure.CONNECT, _connect_reason(error, target, timeout)
    return HttpError(failure, detail, may_have_executed=False)


def _connect_reason(error: OSError, target: Target, timeout: float | None) -> str:
    match error:
        case socket.gaierror():
            return f"the host name {target.host!r} cannot be resolved ({error.strerror})"
        case ConnectionRefusedError():
            return f"connection refused by {target.address}"
        case ConnectionResetError() | ConnectionAbortedError():
            return f"{target.address} closed the connection while it was being set up"
        case TimeoutError() if error.errno is None:
            return f"no connection to {target.address} within {timeout:g} s"
        case _:
            # Without a number it speaks for several addresses that failed differently.
            reason = error.strerror or f"none of its addresses answers: {error}"
            return f"cannot connect to {target.address} ({reason})"


def _refusal(error: ssl.SSLCertVerificationError, target: Target) -> str:
    if error.verify_code in _UNTRUSTED:
        advice = "if the authority is your own, name its file with --cacert"
    elif error.verify_code == _EXPIRED:
        advice = "renew it, or check this machine's clock"
    elif error.verify_code in _WRONG_NAME:
        advice = f"it is not for {target.server_name}; use a name that is in it"
    else:
        advice = "see the server's certificate, or --cacert for an authority of your own"
    return f"{error.verify_message}; {advice}"


def why_lost(exc: Exception | None) -> str:
    """What to say of the error with which a connection ended; ``None``: it was closed."""
    match exc:
        case None:
            return "closed"
        case ConnectionResetError() | BrokenPipeError():
            return "reset by the peer"
        case ssl.SSLError():
            return explain(exc)
        case OSError():
            return exc.strerror or str(exc)
        case _:
            return str(exc)


def explain(error: ssl.SSLError) -> str:
    """Say what a failure of TLS itself means, with OpenSSL's name for it."""
    match error.reason:
        case "WRONG_VERSION_NUMBER" | "HTTP_REQUEST" | "RECORD_LAYER_FAILURE":
            return "the server does not speak TLS; is it an http:// URL?"
        case str() as reason if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
            return f"the server refused ({reason}); it may want a client certificate: --cert"
        case reason:
            return reason or str(error)
