"""What to say of the errors that httpx, httpcore and anyio raise."""

from __future__ import annotations

import ssl

import httpx

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.failures import explain, no_connection, why_lost
from relay.http.httpx_sending import Sending, Stage
from relay.http.interface import Timeouts
from relay.http.target import Target, parse_target
from relay.proxies import Proxy

# How httpcore 1.0 and h11 say that the peer closed; they have no type for it.
_CLOSED = ("Server disconnected", "peer closed connection", "peer unexpectedly closed")


def without_head(
    error: Exception, sending: Sending, timeouts: Timeouts, proxy: Proxy | None
) -> HttpError:
    """Say why there is no head of a response."""
    if not sending.begun:
        return _no_way(error, sending, timeouts.connect, proxy)
    address = sending.target.address
    match error:
        case TimeoutError():
            waiting = sending.stage is Stage.WAITING
            missing = "begin to answer" if waiting else "read the request"
            return HttpError(
                Failure.HEADERS_TIMEOUT,
                f"{address} did not {missing} within {timeouts.head:g} s",
                may_have_executed=True,
            )
        case httpx.LocalProtocolError():  # h11 refuses to write it
            return HttpError(Failure.PROTOCOL, str(error), may_have_executed=False)
        case _:
            return cut_off(error, address, "before answering")


def cut_off(error: Exception, address: str, when: str) -> HttpError:
    """Say why a response is not complete."""
    cause = _cause(error)
    failure = Failure.CLOSED
    if isinstance(error, httpx.RemoteProtocolError):
        if not str(error).startswith(_CLOSED):
            detail = f"the response is not valid HTTP/1.1 ({error})"
            return HttpError(Failure.PROTOCOL, detail, may_have_executed=True)
        detail = f"the server closed the connection {when}"
    elif isinstance(cause, ssl.SSLError):
        failure = Failure.TLS
        detail = f"the connection to {address} was lost ({explain(cause)})"
    else:
        detail = f"the connection to {address} was lost ({why_lost(cause)})"
    return HttpError(failure, detail, may_have_executed=True)


def refusal_of(proxy: Proxy, status: str, target: Target) -> HttpError:
    """Say what the proxy itself answered instead of the server."""
    if not status.startswith("407"):
        detail = f"the proxy does not connect to {target.address} (HTTP {status})"
    elif proxy.credentials is None:
        detail = "the proxy wants a user name and password (HTTP 407): put them into its URL"
    else:
        detail = "the proxy does not accept the user name and password in its URL (HTTP 407)"
    return _by_way_of(proxy, HttpError(Failure.CONNECT, detail, may_have_executed=False))


def _no_way(
    error: Exception, sending: Sending, timeout: float | None, proxy: Proxy | None
) -> HttpError:
    """Say why there is no connection; with a proxy there are two who can be the reason."""
    if proxy is None:
        return no_connection(_cause(error) or ConnectionResetError(), sending.target, timeout)
    if isinstance(error, httpx.ProxyError):
        return refusal_of(proxy, str(error), sending.target)
    there = sending.target if sending.stage is Stage.SECURING else parse_target(proxy.url)
    if isinstance(error, httpx.RemoteProtocolError):
        detail = f"{there.address} does not answer as an HTTP proxy does ({error})"
        failure = HttpError(Failure.CONNECT, detail, may_have_executed=False)
    else:
        failure = no_connection(_cause(error) or ConnectionResetError(), there, timeout)
    return _by_way_of(proxy, failure)


def _by_way_of(proxy: Proxy, error: HttpError) -> HttpError:
    detail = f"{error.detail}; the proxy is {proxy.url} (from {proxy.source}), {proxy.detour}"
    return HttpError(error.failure, detail, may_have_executed=error.may_have_executed)


def _cause(error: BaseException) -> OSError | None:
    """The system's own error, which the libraries have wrapped one after the other."""
    if isinstance(error, TimeoutError):
        return error
    found = None
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError):
            found = link
        if isinstance(link, BaseExceptionGroup):  # of several addresses; one speaks for all
            link = link.exceptions[0]
        else:
            link = link.__cause__ or link.__context__
    return found
