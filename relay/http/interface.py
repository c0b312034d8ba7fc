"""The whole of what the shell knows about HTTP: one exchange at a time, streamed, abortable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class Timeouts(Struct, frozen=True):
    """Deadlines in seconds; ``None``: none.

    ``connect`` covers name look-up, TCP and TLS. ``head`` runs from the end of the request to the
    head of its response, and bounds each stall while the request is written; it must exceed 20 s,
    because servers of the MCP Python SDK hold the head of a slow call back for 15 s. ``idle`` is
    the longest silence within a response body.
    """

    connect: float | None = 10.0
    head: float | None = 60.0
    idle: float | None = 300.0


class HttpRequest(Struct, frozen=True):
    """One request to the server. Header names are sent as given.

    ``target`` is a URI reference (RFC 3986, 4.1), resolved against the client's URL; empty: that
    URL. Credentials go along, so one that leads to another origin is refused. The response to a
    ``standing`` request has no ``idle`` deadline: keep-alive probes tell whether its peer is there.
    """

    method: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    target: str = ""
    standing: bool = False


class HttpResponse(Protocol):
    """A response whose head has arrived and whose body is still to be read."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case; repeated headers joined with ``", "``."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the decoded body as it arrives; ends with the body, raises ``HttpError``.

        Chunks are never empty and have nothing to do with message boundaries. To be read once,
        within the exchange's context.
        """


class HttpClient(Protocol):
    """Makes exchanges with one server.

    Leaving the ``exchange`` context before the body's end, by cancellation or otherwise, closes
    the connection at once: to a 2026-07-28 server that close *is* the cancellation (basic/
    utilities/cancellation). Cancelling while waiting for the head does the same.
    """

    def exchange(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpResponse]:
        """Send a request and enter with the head of its response; raises ``HttpError``."""

    async def aclose(self) -> None:
        """Close every pooled connection. Exchanges still open are aborted."""
