"""Making a connection: name look-up, TCP and TLS, whose failures become ``HttpError`` here."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from relay.core.events import Failure
from relay.http.connection import Connection
from relay.http.errors import HttpError
from relay.http.target import Target
from relay.http.tls import explain

_NEXT_ADDRESS_AFTER = 0.25  # seconds (RFC 8305, 8)

# X509_V_ERR_ codes of OpenSSL (openssl-verify(1)) for a chain that ends in nobody we trust.
_UNTRUSTED = frozenset({2, 18, 19, 20, 21})
_EXPIRED = 10
_WRONG_NAME = frozenset({62, 64})


async def connect(
    target: Target,
    tls: ssl.SSLContext | None,
    timeout: float | None,
    on_lost: Callable[[Connection], None],
) -> Connection:
    """Connect within ``timeout`` seconds, to whichever address of the host answers first.

    :raises HttpError: ``CONNECT`` or ``TLS``; nothing of any request was sent.
    """
    try:
        async with asyncio.timeout(timeout):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(target, on_lost),
                target.host,
                target.port,
                ssl=tls,
                server_hostname=target.server_name if tls else None,
                ssl_handshake_timeout=timeout if tls else None,
                happy_eyeballs_delay=_NEXT_ADDRESS_AFTER,
            )
    except ssl.SSLCertVerificationError as error:
        detail = f"the certificate of {target.address} is not accepted: {_refusal(error, target)}"
        raise HttpError(Failure.TLS, detail, may_have_executed=False) from error
    except ssl.SSLError as error:
        detail = f"no TLS with {target.address}: {explain(error)}"
        raise HttpError(Failure.TLS, detail, may_have_executed=False) from error
    except OSError as error:  # TimeoutError is one
        detail = _connect_reason(error, target, timeout)
        raise HttpError(Failure.CONNECT, detail, may_have_executed=False) from error
    return connection


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
