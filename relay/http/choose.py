"""Which HTTP client a run uses: the direct one, or httpx where a proxy stands in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from relay.http.direct import DirectHttpClient
from relay.http.interface import HttpClient, Timeouts
from relay.http.target import parse_target
from relay.settings import Settings


class _Client(HttpClient, Protocol):
    @property
    def tls_facts(self) -> Mapping[str, str] | None: ...


class Chosen(Struct, frozen=True):
    """A client, and what is known of its latest TLS connection (``None`` without one)."""

    client: HttpClient
    tls_facts: Callable[[], Mapping[str, str] | None]


def choose_client(settings: Settings) -> Chosen:
    """Make the client for a run.

    :raises UsageError: if a file of credentials cannot be used.
    :raises HttpConfigError: if the URL, a header or a certificate cannot.
    """
    tls = None  # loading the system's authorities takes a fifth of a start over http
    if parse_target(settings.url).tls or settings.cacert or settings.cert or settings.insecure:
        from relay.http.tls import tls_context

        tls = tls_context(
            cacert=settings.cacert,
            cert=settings.cert,
            key=settings.key,
            insecure=settings.insecure,
        )
    timeouts = Timeouts(
        connect=settings.timeout_connect, head=settings.timeout_head, idle=settings.timeout_read
    )
    fixed = [(header.name, header.value()) for header in settings.headers if not header.files]
    client: _Client
    if settings.proxy is None:
        client = DirectHttpClient(settings.url, headers=fixed, timeouts=timeouts, tls=tls)
    else:
        # httpx and what it needs would double the modules of a start.
        from relay.http.httpx_client import HttpxClient

        client = HttpxClient(
            settings.url, headers=fixed, timeouts=timeouts, tls=tls, proxy=settings.proxy
        )
    return Chosen(_authorized(client, settings), lambda: client.tls_facts)


def _authorized(client: HttpClient, settings: Settings) -> HttpClient:
    """Add the headers that come from files, if there are any."""
    changing = [header for header in settings.headers if header.files]
    if not changing:
        return client
    from relay.http.credentials import AuthorizedHttpClient
    from relay.http.file_credentials import FileCredentials

    return AuthorizedHttpClient(client, FileCredentials(changing))
