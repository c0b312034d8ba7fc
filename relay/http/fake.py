"""A scripted ``HttpClient`` without a network, for tests of what is built on one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.interface import HttpRequest

Gate = asyncio.Event
Step = bytes | Gate | HttpError
"""Bytes are yielded, a gate is awaited, an error is raised where it stands."""


@dataclass(frozen=True, slots=True)
class FakeResponse:
    """What the server does with one request: gates or an error, the head, then the body."""

    body: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    before_head: Sequence[Gate | HttpError] = ()


class FakeExchange:
    """One exchange as the server saw it."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.ended = asyncio.Event()
        """Set once the client has left the exchange, whichever way."""
        self.complete = False
        """The client read the body to its end."""

    @property
    def aborted(self) -> bool:
        """The client left before the end of the body: the server saw the connection close."""
        return self.ended.is_set() and not self.complete


class _Response:
    def __init__(self, script: FakeResponse, exchange: FakeExchange, closed: Gate) -> None:
        self.status = script.status
        self.headers = script.headers
        self._body = script.body
        self._exchange = exchange
        self._closed = closed

    async def chunks(self) -> AsyncIterator[bytes]:
        for step in self._body:
            if chunk := await _take(step, self._closed):
                yield chunk
        self._exchange.complete = True


Script = Iterable[FakeResponse] | Callable[[HttpRequest], FakeResponse]


class FakeHttpClient:
    """Answers the n-th request with the n-th response of a script, or asks a function for it.

    >>> gate = asyncio.Event()
    >>> client = FakeHttpClient([FakeResponse([b'{"id": 1', gate, b"}"])])

    A request beyond the script is a fault of the test or of what it tests: ``AssertionError``.
    """

    def __init__(self, script: Script) -> None:
        self._respond = script if callable(script) else _in_order(script)
        self._closed = asyncio.Event()
        self._news = asyncio.Event()
        self.exchanges: list[FakeExchange] = []

    @property
    def requests(self) -> list[HttpRequest]:
        return [exchange.request for exchange in self.exchanges]

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    async def started(self, index: int) -> FakeExchange:
        """Wait until the request of this index (from 0) is made; return its exchange."""
        while len(self.exchanges) <= index:
            self._news.clear()
            await self._news.wait()
        return self.exchanges[index]

    @asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncIterator[_Response]:
        exchange = FakeExchange(request)
        self.exchanges.append(exchange)
        self._news.set()
        try:
            script = self._respond(request)
            for step in script.before_head:
                await _take(step, self._closed)
            yield _Response(script, exchange, self._closed)
        finally:
            exchange.ended.set()

    async def aclose(self) -> None:
        self._closed.set()


def _in_order(script: Iterable[FakeResponse]) -> Callable[[HttpRequest], FakeResponse]:
    responses = iter(script)

    def respond(request: HttpRequest) -> FakeResponse:
        response = next(responses, None)
        assert response is not None, f"{request.method} {request.body[:80]!r} is not in the script"
        return response

    return respond


async def _take(step: Step, closed: Gate) -> bytes:
    """Carry out one step; what waits at a gate when the client is closed is aborted."""
    match step:
        case bytes():
            return step
        case HttpError():
            raise step
        case asyncio.Event():
            waits = [asyncio.ensure_future(event.wait()) for event in (step, closed)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
            if not step.is_set():
                raise HttpError(Failure.CLOSED, "the client was closed", may_have_executed=True)
    return b""
