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

from relay.core.events import Failure
from relay.http.connection import Connection, new_inbox
from relay.http.errors import HttpError
from relay.http.headers import Headers, RequestHeaders
from relay.http.interface import HttpRequest, Timeouts
from relay.http.parser import ResponseHead, content_coding
from relay.http.pool import IDLE_EXPIRY, Pool
from relay.http.target import MAX_REDIRECTS, Target, parse_target

_DEFAULT_TIMEOUTS = Timeouts()
_NEXT_ADDRESS_AFTER = 0.25  # seconds (RFC 8305, 8)


class DirectHttpClient:
    """Makes exchanges with the server at one URL (:class:`relay.http.interface.HttpClient`).

    307 and 308 are followed, up to ``MAX_REDIRECTS`` times, to the same origin or from http to
    https of the same host; any other redirect is returned as the response it is.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Headers = (),
        timeouts: Timeouts = _DEFAULT_TIMEOUTS,
        tls: ssl.SSLContext | None = None,
        idle_expiry: float = IDLE_EXPIRY,
    ) -> None:
        """
        :param headers: sent with every request that does not name them itself.
        :param tls: for https; the system's authorities if ``None``.
        :raises HttpConfigError: if the URL or a header cannot be used.
        """
        self._target = parse_target(url)
        self._headers = RequestHeaders(headers)
        self._timeouts = timeouts
        self._tls = _tls_context() if tls is None and self._target.tls else tls
        self._pool = Pool(idle_expiry)
        self._inbox = new_inbox()
        self._connections: set[Connection] = set()
        self._connecting: set[asyncio.Timeout] = set()
        self._tls_facts: Mapping[str, str] | None = None
        self._closed = False

    @property
    def tls_facts(self) -> Mapping[str, str] | None:
        """Version, cipher and certificate of the latest TLS connection; ``None`` without one."""
        return self._tls_facts

    def exchange(self, request: HttpRequest) -> DirectExchange:
        return DirectExchange(self, request)

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

    async def begin(self, request: HttpRequest) -> DirectResponse:
        """Begin an exchange: send the request and wait for the head of the response."""
        connection, head = await self._follow(request)
        return DirectResponse(head, connection, None if request.standing else self._timeouts.idle)

    def end(self, response: DirectResponse) -> None:
        """End an exchange that was begun."""
        response.over = True
        self._release(response.connection)

    async def _follow(self, request: HttpRequest) -> tuple[Connection, ResponseHead]:
        target = self._target.of_request(request.target)
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
        head = self._headers.render(target, request)
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
            self._tls = _tls_context()
        if self._closed:
            raise _closed()
        timeout = self._timeouts.connect
        scope = asyncio.timeout(timeout)
        try:
            async with scope:
                self._connecting.add(scope)
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(target, self._inbox, self._lost),
                    target.host,
                    target.port,
                    ssl=self._tls if target.tls else None,
                    server_hostname=target.server_name if target.tls else None,
                    ssl_handshake_timeout=timeout if target.tls else None,
                    happy_eyeballs_delay=_NEXT_ADDRESS_AFTER,
                )
        except OSError as error:  # TimeoutError and ssl.SSLError are
            if self._closed:  # which ended the scope
                raise _closed() from None
            from relay.http.failures import no_connection

            raise no_connection(error, target, timeout) from error
        finally:
            self._connecting.discard(scope)
        if not connection.lost:
            self._connections.add(connection)
        if connection.ssl_object is not None:
            from relay.http.tls import facts

            self._tls_facts = facts(connection.ssl_object)
        return connection

    def _release(self, connection: Connection) -> None:
        if connection.finish():
            self._pool.put(connection)

    def _lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._pool.discard(connection)


class DirectExchange:
    """The context of one exchange; a class, because a generator takes longer to enter and leave."""

    def __init__(self, client: DirectHttpClient, request: HttpRequest) -> None:
        self._client = client
        self._request = request
        self._response: DirectResponse

    async def __aenter__(self) -> DirectResponse:
        self._response = await self._client.begin(self._request)
        return self._response

    async def __aexit__(self, *_: object) -> None:
        self._client.end(self._response)


class DirectResponse:
    """A response on its connection (:class:`relay.http.interface.HttpResponse`)."""

    def __init__(self, head: ResponseHead, connection: Connection, idle: float | None) -> None:
        self.status = head.status
        self.headers = head.headers
        self.over = False
        """The exchange's context is left; the connection may belong to another exchange."""
        self.connection = connection
        self._idle = idle

    def chunks(self) -> AsyncIterator[bytes]:
        coding = content_coding(self.headers)
        if not coding:
            return self._plain()
        # Most servers of MCP do not compress: zlib is loaded for those that do.
        from relay.http.decoding import decoded

        return decoded(self._read, coding)

    async def _plain(self) -> AsyncIterator[bytes]:
        while data := await self._read():
            yield data

    async def _read(self) -> bytes:
        if self.over:
            raise RuntimeError("chunks() was read after its exchange was left")
        return await self.connection.read(self._idle)


def _closed() -> HttpError:
    return HttpError(Failure.CLOSED, "the HTTP client is closed", may_have_executed=False)


def _tls_context() -> ssl.SSLContext:
    """Trust the system's authorities; what makes it so is loaded for https alone."""
    from relay.http.tls import tls_context

    return tls_context()
