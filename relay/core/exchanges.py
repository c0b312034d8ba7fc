"""The open HTTP exchanges: their events in, what these mean out.

An exchange is one POST (or DELETE) and its response. This module knows JSON-RPC over HTTP as all
revisions have it; what an answer means for the client is the eras' business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from relay.core import messages, outcomes
from relay.core.commands import Abort, Command, Level, Notice, Request, SetTimer, Verb
from relay.core.errors import Malformed, Problem
from relay.core.events import (
    Event,
    ExchangeId,
    Failure,
    ServerAnswered,
    ServerEnded,
    ServerFailed,
    ServerSent,
    TimerFired,
    TimerId,
)
from relay.core.inflight import Call
from relay.core.messages import Kind, Message, RequestId
from relay.core.sse import is_event_stream

LINGER_SECONDS = 5.0
"""How long an exchange may stay open once nothing is expected from it (up to twice that)."""


@dataclass(slots=True, eq=False)
class Exchange:
    """One exchange and what is known of its response.

    ``expects`` is the id of the response it must bring, None for a notification, a response or a
    DELETE. ``call`` is the client's request behind it, None for the relay's own.
    """

    id: ExchangeId
    method: str
    expects: RequestId | None = None
    call: Call | None = None
    in_session: bool = False
    translated: bool = False  # the client's request went out in another era's form
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    evidence: bytes = b""
    settled: bool = False  # its response came, or it is no longer wanted
    sweeps: int = 0

    @property
    def is_stream(self) -> bool:
        return is_event_stream(self.headers.get("content-type", ""))


class Answered(msgspec.Struct, frozen=True):
    """The response that an exchange was made for; its id may be null for an error."""

    exchange: Exchange
    message: Message


class Accepted(msgspec.Struct, frozen=True):
    """The server has taken an exchange that brings no response; nothing waits for its end."""

    exchange: Exchange


class Received(msgspec.Struct, frozen=True):
    """A request or a notification of the server on the way to the response."""

    exchange: Exchange
    message: Message


class Over(msgspec.Struct, frozen=True):
    """An exchange is over; ``problem`` is set if it did not do what it was made for."""

    exchange: Exchange
    problem: Problem | None = None
    failure: Failure | None = None  # set if it broke off


Arrival = Accepted | Answered | Received | Over | Notice | Abort | SetTimer


class Exchanges:
    """All exchanges of one era. ``numbers`` gives ids that are unique in the whole session."""

    def __init__(self, name: str, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._open: dict[ExchangeId, Exchange] = {}
        self._linger = TimerId(f"linger:{name}:{next(numbers)}")
        self._sweeping = False

    def __iter__(self) -> Iterator[Exchange]:
        return iter(tuple(self._open.values()))

    @property
    def busy(self) -> bool:
        """Whether an exchange is open from which something is still wanted."""
        return any(not exchange.settled for exchange in self._open.values())

    def open(
        self,
        method: str,
        headers: tuple[tuple[str, str], ...],
        body: bytes = b"",
        *,
        expects: RequestId | None = None,
        call: Call | None = None,
        translated: bool = False,
    ) -> tuple[Exchange, Request]:
        """Begin an exchange: a POST of ``body``, or a DELETE without one."""
        number = ExchangeId(next(self._numbers))
        in_session = any(name == "Mcp-Session-Id" for name, _ in headers)
        exchange = Exchange(number, method, expects, call, in_session, translated)
        self._open[number] = exchange
        if call is not None:
            call.sent = True
        return exchange, Request(number, Verb.POST if body else Verb.DELETE, headers, body)

    def is_open(self, exchange: Exchange) -> bool:
        return exchange.id in self._open

    def of(self, call: Call) -> Exchange | None:
        """The exchange that is to bring the answer of ``call``."""
        for exchange in self._open.values():
            if exchange.call is call and not exchange.settled:
                return exchange
        return None

    def abort(self, exchange: Exchange) -> Abort:
        """Close an exchange at once and forget it."""
        del self._open[exchange.id]
        return Abort(exchange.id)

    def release(self, exchange: Exchange) -> list[SetTimer]:
        """Expect nothing more from an exchange, but let the server end it in its own time."""
        exchange.settled = True
        if self._sweeping:
            return []
        self._sweeping = True
        return [SetTimer(self._linger, LINGER_SECONDS)]

    def receive(self, event: Event) -> list[Arrival]:
        """What an event means; nothing for one that is not about these exchanges."""
        match event:
            case ServerAnswered(exchange=number) if number in self._open:
                return self._head(self._open[number], event)
            case ServerSent(exchange=number) if number in self._open:
                return self._sent(self._open[number], event)
            case ServerEnded(exchange=number) if number in self._open:
                return [self._ended(self._open.pop(number))]
            case ServerFailed(exchange=number) if number in self._open:
                return [self._failed(self._open.pop(number), event)]
            case TimerFired(timer=timer) if timer == self._linger:
                return self._swept()
            case _:
                pass
        return []

    def _head(self, exchange: Exchange, event: ServerAnswered) -> list[Arrival]:
        exchange.status, exchange.headers = event.status, event.headers
        if exchange.expects is not None or event.status >= 300:
            return []
        exchange.settled = True
        return [Accepted(exchange), *(self.release(exchange) if exchange.is_stream else ())]

    def _sent(self, exchange: Exchange, event: ServerSent) -> list[Arrival]:
        if event.event != "message" or not event.data:
            return []  # other event types are not MCP's; no data primes a resumable stream
        try:
            received = messages.parse_server(event.data)
        except Malformed as error:
            exchange.evidence = exchange.evidence or event.data
            return [_dropped(exchange, f"not JSON-RPC, {error}")] if exchange.is_stream else []
        arrivals: list[Arrival] = []
        for message in received:
            arrivals += self._message(exchange, message)
        return arrivals

    def _message(self, exchange: Exchange, message: Message) -> list[Arrival]:
        if message.kind is not Kind.RESPONSE:
            return [Received(exchange, message)]
        if exchange.settled:
            return [_dropped(exchange, "a response that nothing waits for", Level.DEBUG)]
        if not _answers(exchange, message):
            exchange.evidence = exchange.evidence or message.raw
            return [_dropped(exchange, "a response with an id that was not asked for")]
        exchange.settled = True
        return [
            Answered(exchange, message),
            *(self.release(exchange) if exchange.is_stream else ()),
        ]

    def _ended(self, exchange: Exchange) -> Over:
        """A response that is complete is a problem unless it did what it was asked for."""
        if exchange.settled:
            return Over(exchange)
        problem = outcomes.unanswered(
            exchange.status,
            exchange.headers,
            exchange.evidence,
            exchange.method,
            in_session=exchange.in_session,
        )
        return Over(exchange, problem)

    def _failed(self, exchange: Exchange, event: ServerFailed) -> Over:
        if exchange.settled:
            return Over(exchange)
        problem = outcomes.failed(
            event.failure,
            event.detail,
            exchange.method,
            may_have_executed=event.may_have_executed,
        )
        return Over(exchange, problem, event.failure)

    def _swept(self) -> list[Arrival]:
        """Close what has lingered for a whole interval; look again later if more lingers."""
        self._sweeping = False
        arrivals: list[Arrival] = []
        lingering = [exchange for exchange in self._open.values() if exchange.settled]
        for exchange in lingering:
            exchange.sweeps += 1
            if exchange.sweeps > 1:
                arrivals.append(self.abort(exchange))
        if len(arrivals) < len(lingering):
            self._sweeping = True
            arrivals.append(SetTimer(self._linger, LINGER_SECONDS))
        return arrivals


def notice(problem: Problem, about: str, level: Level = Level.WARNING) -> Command:
    """A problem for the log, where no client waits to hear of it."""
    return Notice(level, f"{about}: {problem.message}")


def _answers(exchange: Exchange, message: Message) -> bool:
    """Whether a response is the one this exchange is for.

    One POST carries one request, so an error without a usable id can only be about that one:
    JSON-RPC 2.0 has null where the id was not legible, and on an HTTP error status the body is
    about the request whatever id it names.
    """
    if exchange.expects is None:
        return False
    if message.request_id == exchange.expects:
        return True
    return message.error is not None and (message.request_id is None or exchange.status >= 400)


def _dropped(exchange: Exchange, what: str, level: Level = Level.WARNING) -> Notice:
    return Notice(level, f"dropped from the server's answer to {exchange.method}: {what}")
