"""One connection to the server, which carries one exchange at a time."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.parser import ResponseHead, ResponseParser
from relay.http.target import Target

HIGH_WATER = 1 << 18
"""Bytes of body kept for a slow reader; above it nothing more is read from the socket."""

_READ = 1 << 18  # bytes at once, like asyncio's own
_SLICE = 1 << 18  # bytes written at once: the transport copies what the kernel does not take

# A rig behind a mobile link or a NAT must be noticed to be gone: first probe after 60 s of silence,
# 4 more 15 s apart. Not every platform has every option.
_SOCKET_OPTIONS = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 60),
    (socket.IPPROTO_TCP, "TCP_KEEPALIVE", 60),  # the name of TCP_KEEPIDLE on macOS
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 15),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 4),
)


def new_inbox() -> memoryview:
    """Make what the connections of one event loop read into, one at a time.

    It is emptied as soon as it is filled, so one is enough for all of them. Memory of this size for
    each read would cost more than all else that is done for a small response.
    """
    return memoryview(bytearray(_READ))


class Connection(asyncio.BufferedProtocol):
    """A TCP or TLS connection, made by ``loop.create_connection``.

    An exchange is :meth:`request`, then :meth:`read` until it returns nothing, then
    :meth:`finish`. :meth:`abort` may come at any time.
    """

    def __init__(
        self, target: Target, inbox: memoryview, on_lost: Callable[[Connection], None]
    ) -> None:
        self.origin = target.origin
        self._address = target.address
        self._inbox = inbox
        self._on_lost = on_lost
        self._lost = asyncio.Event()
        self._transport: asyncio.Transport
        self._is_readable: Callable[[], bool]
        self._parser: ResponseParser | None = None
        self._error: HttpError | None = None
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._news: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._deadline: float | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._writable = True
        self._reading = True
        self._request_sent = True

    @property
    def usable(self) -> bool:
        """An exchange can start here, as far as can be known without writing.

        A look at the socket itself, because the event loop may not have come to a close that has
        arrived already.
        """
        return not self._transport.is_closing() and not self._is_readable()

    @property
    def lost(self) -> bool:
        """The socket is closed."""
        return self._lost.is_set()

    @property
    def ssl_object(self) -> ssl.SSLObject | None:
        return cast("ssl.SSLObject | None", self._transport.get_extra_info("ssl_object"))

    async def request(
        self, method: str, head: bytes, body: bytes, timeout: float | None
    ) -> ResponseHead:
        """Write a request; return the head of the response, even if it comes before the end of it.

        :param timeout: seconds for each stall of the writing, and for the head thereafter.
        :raises HttpError: if there is no head; the caller aborts.
        """
        if self._transport.is_closing():
            raise HttpError(
                Failure.CLOSED,
                f"{self._address} closed the connection before the request",
                may_have_executed=False,
            )
        parser = self._parser = ResponseParser(method)
        self._request_sent = False
        try:
            await self._write(parser, head, body, timeout)
            self._limit(timeout)
            while parser.head is None and self._error is None:
                await self._change()
        except TimeoutError:
            missing = "begin to answer" if self._request_sent else "read the request"
            raise HttpError(
                Failure.HEADERS_TIMEOUT,
                f"{self._address} did not {missing} within {timeout:g} s",
                may_have_executed=True,
            ) from None
        if parser.head is None:
            assert self._error is not None, "woken by neither a head nor an error"
            raise self._error
        return parser.head

    async def read(self, timeout: float | None) -> bytes:
        """Return what has come of the body, or wait for some; nothing means its end.

        :param timeout: seconds of silence allowed.
        :raises HttpError: if the body cannot be completed; the caller aborts.
        """
        parser = self._parser
        assert parser is not None, "read() is part of an exchange"
        if not self._pieces and not parser.complete and self._error is None:
            await self._more_body(parser, timeout)
        if self._pieces:
            body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._drop_body()
            return body
        if self._error is not None:
            raise self._error
        return b""

    def finish(self) -> bool:
        """End the exchange; true if the connection can carry another, else it is closed."""
        parser, self._parser = self._parser, None
        in_step = parser is not None and parser.complete and parser.reusable
        if in_step and self._request_sent and self._writable and not self._transport.is_closing():
            self._drop_body()
            return True
        self.abort()
        return False

    def abort(self, detail: str = "the connection was closed here") -> None:
        """Close the socket at once; whoever waits on the exchange gets an ``HttpError``."""
        self._fail(Failure.CLOSED, detail)
        if not self._lost.is_set():  # Python 3.11 cannot abort what has ended by itself
            self._transport.abort()

    async def wait_lost(self) -> None:
        """Return once the socket is closed."""
        await self._lost.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        tune(sock)
        self._is_readable = _readiness(sock.fileno())

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._inbox

    def buffer_updated(self, nbytes: int) -> None:
        if self._parser is None:
            # An answer to nothing: what comes next could be taken for the answer to something.
            self.abort()
            return
        if self._error is not None:
            return
        if piece := self._parser.feed(self._inbox[:nbytes]):
            self._pieces.append(piece)
            self._buffered += len(piece)
            if self._buffered > HIGH_WATER and self._reading:
                self._reading = False
                self._transport.pause_reading()
        if self._parser.error is not None:
            self._error = self._parser.error
            self._transport.abort()
        self._wake()

    def eof_received(self) -> None:
        """The peer has finished sending; returning nothing closes our side too."""
        if self._parser is not None:
            self._parser.feed_eof(clean=self.ssl_object is None or _has_ended(self.ssl_object))
            self._error = self._error or self._parser.error
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._parser is not None and self._error is None:
            from relay.http.failures import why_lost

            failure = Failure.TLS if isinstance(exc, ssl.SSLError) else Failure.CLOSED
            self._fail(failure, f"the connection to {self._address} was lost ({why_lost(exc)})")
        if self._alarm is not None:
            self._alarm.cancel()
        self._lost.set()
        self._on_lost(self)

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._wake()

    async def _write(
        self, parser: ResponseParser, head: bytes, body: bytes, timeout: float | None
    ) -> None:
        """Write a request, a slice at a time; stop where the server has answered already."""
        if len(body) <= _SLICE:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            view = memoryview(body)
            for start in range(0, len(body), _SLICE):
                self._transport.write(view[start : start + _SLICE])
                self._limit(timeout)
                while not self._writable and parser.head is None and self._error is None:
                    await self._change()
                if parser.head is not None or self._error is not None:
                    return
        self._request_sent = True

    async def _more_body(self, parser: ResponseParser, timeout: float | None) -> None:
        """Wait for body, its end or an error; not every read of the socket brings one of them."""
        self._limit(timeout)
        try:
            while not self._pieces and not parser.complete and self._error is None:
                await self._change()
        except TimeoutError:
            raise HttpError(
                Failure.IDLE_TIMEOUT,
                f"{self._address} fell silent for {timeout:g} s within a response",
                may_have_executed=True,
            ) from None

    def _limit(self, seconds: float | None) -> None:
        """Say how long the waits that follow may take together."""
        self._deadline = None if seconds is None else self._loop.time() + seconds

    async def _change(self) -> None:
        """Wait for anything to happen. One task at a time uses a connection.

        :raises TimeoutError: if nothing did until the deadline.
        """
        # A timer is set for the first wait and looks for itself what has become of the deadline:
        # nearly all waits are short, and to set and cancel one for each takes longer than they do.
        if self._deadline is not None:
            if self._alarm is not None and self._deadline < self._alarm.when():
                self._alarm.cancel()
                self._alarm = None
            self._alarm = self._alarm or self._loop.call_at(self._deadline, self._ring)
        self._news = self._loop.create_future()
        try:
            await self._news
        finally:
            self._news = None

    def _ring(self) -> None:
        self._alarm = None
        if self._news is None or self._news.done() or self._deadline is None:
            return
        if self._loop.time() < self._deadline:
            self._alarm = self._loop.call_at(self._deadline, self._ring)
        else:
            self._news.set_exception(TimeoutError())

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _fail(self, failure: Failure, detail: str) -> None:
        """End the exchange with an error, unless it is complete or has one."""
        if self._parser is not None and self._parser.complete:
            return
        self._error = self._error or HttpError(failure, detail, may_have_executed=True)
        self._wake()

    def _drop_body(self) -> None:
        self._pieces = []
        self._buffered = 0
        if not self._reading:
            self._reading = True
            self._transport.resume_reading()


class _Socket(Protocol):
    def setsockopt(self, level: int, optname: int, value: int, /) -> object: ...


def tune(sock: _Socket) -> None:
    """Have the system notice a peer that is gone, and send at once what is written."""
    for level, name, value in _SOCKET_OPTIONS:
        if (option := getattr(socket, name, None)) is not None:
            with suppress(OSError):
                sock.setsockopt(level, option, value)


def _has_ended(tls: ssl.SSLObject) -> bool:
    from relay.http.tls import has_ended

    return has_ended(tls)


def _readiness(descriptor: int) -> Callable[[], bool]:
    """Whether a read would not block: bytes, an end of file or an error have arrived."""
    if not hasattr(select, "poll"):  # Windows, where select() knows no limit on descriptors
        return lambda: bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return lambda: bool(poll.poll(0))
