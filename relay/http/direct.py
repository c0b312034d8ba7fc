"""The HTTP/1.1 client of the relay's hot path: asyncio transports under httptools' parser.

How many connections there are is up to the caller: one for each exchange that is open, because
HTTP/1.1 carries one at a time, and up to :data:`relay.http.pool.MAX_IDLE` at rest. No exchange
waits for another; the relay's core bounds how many it has open.

**What is sent again**: nothing that was written. A connection at rest that turns out closed before
the first byte is written is replaced by a new one, and nobody notices. One that closes after that
ends its exchange with ``may_have_executed``, even if not a byte of the response came, because the
server may have read the request before it closed. What may then be repeated, is the protocol's
knowledge and not HTTP's. To make this rare, connections rest for less time than servers keep them.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

from relay.core.events import Failure
from relay.http.connecting import connect
from relay.http.connection import Connection
from relay.http.decoding import ContentDecoder
from relay.http.errors import HttpError, InvalidHeaderError
from relay.http.headers import HeaderSource, RequestHeaders
from relay.http.interface import HttpRequest, Timeouts
from relay.http.parser import ResponseHead
from relay.http.pool import Pool
from relay.http.target import Target, parse_target
from relay.http.tls import tls_context

MAX_REDIRECTS = 3
IDLE_EXPIRY = 4.0
"""Seconds that a connection rests before it is closed; uvicorn and Node.js close after 5."""

_DEFAULT_TIMEOUTS = Timeouts()


class DirectHttpClient:
    """Makes exchanges with the server at one URL (:class:`relay.http.interface.HttpClient`).

    307 and 308 are followed, up to :data:`MAX_REDIRECTS` times, to the same origin or from http to
    https of the same host; any other redirect is returned as the response it is.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: HeaderSource = (),
        timeouts: Timeouts = _DEFAULT_TIMEOUTS,
        tls: ssl.SSLContext | None = None,
        idle_expiry: float = IDLE_EXPIRY,
    ) -> None:
        """
        :param headers: sent with every request; a function is asked anew for each.
        :param tls: for https; the system's authorities if ``None``.
        :raises HttpConfigError: if the URL or a header cannot be used.
        """
        self._target = parse_target(url)
        self._headers = RequestHeaders(headers)
        self._timeouts = timeouts
        self._tls = tls_context() if tls is None and self._target.tls else tls
        self._pool = Pool(idle_expiry)
        self._connections: set[Connection] = set()
        self._connecting: set[asyncio.Timeout] = set()
        self._tls_facts: Mapping[str, str] | None = None
        self._closed = False

    @property
    def tls_facts(self) -> Mapping[str, str] | None:
        """Version, cipher and certificate of the latest TLS connection; ``None`` without one."""
        return self._tls_facts

    @asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncIterator[DirectResponse]:
        connection, head = await self._follow(request)
        response = DirectResponse(head, connection, self._timeouts.idle)
        try:
            yield response
        finally:
            response.over = True
            self._release(connection)

    async def aclose(self) -> None:
        self._closed = True
        self._pool.close()
        for scope in self._connecting:
            if not scope.expired():
                scope.reschedule(asyncio.get_running_loop().time())
        connections = list(self._connections)
        for connection in connections:
            connection.abort("the HTTP client was closed")
        for connection in connections:
            await connection.wait_lost()

    async def _follow(self, request: HttpRequest) -> tuple[Connection, ResponseHead]:
        target = self._target
        for _ in range(MAX_REDIRECTS):
            connection, head = await self._round_trip(target, request)
            if head.status not in (307, 308):
                return connection, head
            redirected = target.redirected(head.headers.get("location", ""))
            if redirected is None:
                return connection, head
            self._release(connection)
            target = redirected
        return await self._round_trip(target, request)

    async def _round_trip(
        self, target: Target, request: HttpRequest
    ) -> tuple[Connection, ResponseHead]:
        """Send the request and wait for the head of the response, on a connection of its own."""
        try:
            head = self._headers.render(target, request)
        except InvalidHeaderError as error:
            raise HttpError(Failure.PROTOCOL, str(error), may_have_executed=False) from error
        connection = self._pool.take(target.origin) or await self._connect(target)
        try:
            return connection, await connection.request(
                request.method, head, request.body, self._timeouts.head
            )
        except BaseException:
            # Cancelled or failed: to the server the close is the cancellation.
            connection.abort()
            raise

    async def _connect(self, target: Target) -> Connection:
        if target.tls and self._tls is None:
            self._tls = tls_context()
        if self._closed:
            raise _closed()
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._connecting.add(scope)
                connection = await connect(
                    target, self._tls if target.tls else None, self._timeouts.connect, self._lost
                )
        except TimeoutError:  # aclose() ended the scope
            raise _closed() from None
        finally:
            self._connecting.discard(scope)
        if not connection.lost:
            self._connections.add(connection)
        if connection.ssl_object is not None:
            self._tls_facts = _facts(connection.ssl_object)
        return connection

    def _release(self, connection: Connection) -> None:
        if connection.finish():
            self._pool.put(connection)

    def _lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._pool.discard(connection)


class DirectResponse:
    """A response on its connection (:class:`relay.http.interface.HttpResponse`)."""

    def __init__(self, head: ResponseHead, connection: Connection, idle: float | None) -> None:
        self.status = head.status
        self.headers = head.headers
        self.over = False
        """The exchange's context is left; the connection may belong to another exchange."""
        self._connection = connection
        self._idle = idle

    async def chunks(self) -> AsyncIterator[bytes]:
        coding = self.headers.get("content-encoding", "identity").lower()
        read = self._read
        if coding in ("identity", ""):
            while data := await read():
                yield data
            return
        decoder: ContentDecoder | None = None
        while data := await read():
            decoder = decoder or ContentDecoder(coding)
            for piece in decoder.feed(data):
                yield piece
                await asyncio.sleep(0)  # one chunk may hold a thousand pieces: let others run
        if decoder is not None:
            decoder.end()

    async def _read(self) -> bytes:
        if self.over:
            raise RuntimeError("chunks() was read after its exchange was left")
        return await self._connection.read(self._idle)


def _closed() -> HttpError:
    return HttpError(Failure.CLOSED, "the HTTP client is closed", may_have_executed=False)


def _facts(tls: ssl.SSLObject) -> Mapping[str, str]:
    facts = {"version": tls.version() or "unknown"}
    if cipher := tls.cipher():
        facts["cipher"] = cipher[0]
    certificate = tls.getpeercert() or {}
    for field in ("subject", "issuer"):
        names = cast("tuple[tuple[tuple[str, str], ...], ...]", certificate.get(field, ()))
        if names:
            facts[field] = ", ".join(f"{key}={value}" for name in names for key, value in name)
    if expires := certificate.get("notAfter"):
        facts["expires"] = str(expires)
    return facts
