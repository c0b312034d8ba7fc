"""The open HTTP exchanges: their events in, what these mean out.

An exchange is one POST, DELETE or standing GET and its response, however many HTTP requests that
takes: one that could not be sent, or was put off by the server, is sent again, and a stream that
broke off is resumed where the server offers it. This module knows JSON-RPC over HTTP as all
revisions have it; what an answer means for the client is the eras' business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from relay.core import messages, outcomes, retries
from relay.core.commands import (
    Abort,
    ClearTimer,
    Command,
    Level,
    Notice,
    Request,
    SetTimer,
    Verb,
)
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
from relay.core.exchange import Accepted, Answered, Arrival, Exchange, Over, Received
from relay.core.headers import (
    SESSION_HEADERS,
    Headers,
    is_visible_ascii,
    legacy_session,
    stream_get,
)
from relay.core.inflight import Call
from relay.core.messages import Kind, Message, RequestId
from relay.core.sse import is_event_stream

__all__ = [
    "LINGER_SECONDS",
    "MAX_NOTIFICATIONS",
    "Accepted",
    "Answered",
    "Arrival",
    "Exchange",
    "Exchanges",
    "Over",
    "Received",
    "notice",
]

LINGER_SECONDS = 5.0
"""How long an exchange may stay open once nothing is expected from it (up to twice that)."""

MAX_NOTIFICATIONS = 256
"""Notifications of the client that wait at most for the ones before them to be taken."""


class Exchanges:
    """All exchanges of one era. ``numbers`` gives ids that are unique in the whole session."""

    def __init__(self, name: str, numbers: Iterator[int], *, patient: bool = True) -> None:
        """``patient``: send again what could not be sent, or was put off by the server."""
        self._numbers = numbers
        self._patient = patient
        self._open: dict[ExchangeId, Exchange] = {}
        self._waiting: dict[TimerId, Exchange] = {}
        self._notifications: deque[Callable[[], Exchange]] = deque()
        self._notification: Exchange | None = None  # on its way; the others wait for it
        self._linger = TimerId(f"linger:{name}:{next(numbers)}")
        self._sweeping = False
        self.target = ""  # where requests go, if not to the URL itself

    def __iter__(self) -> Iterator[Exchange]:
        return iter((*self._open.values(), *self._waiting.values()))

    @property
    def busy(self) -> bool:
        """Whether an exchange is open from which something is still wanted."""
        return any(not each.settled and not each.standing for each in self)

    # -- beginning one --

    def post(
        self,
        method: str,
        headers: Headers,
        body: bytes,
        *,
        expects: RequestId | None = None,
        call: Call | None = None,
        resumable: bool = False,
    ) -> tuple[Exchange, Request]:
        """Begin a POST. ``method`` is what it is about, for the texts of errors."""
        request = Request(self._number(), Verb.POST, headers, body, self.target)
        exchange = self._begin(method, request)
        exchange.expects, exchange.call, exchange.resumable = expects, call, resumable
        if call is not None:
            call.sent = True
        return exchange, request

    def notify(self, method: str, headers: Callable[[], Headers], body: bytes) -> list[Command]:
        """POST a notification once the ones before it have been taken: their order is kept."""
        if len(self._notifications) >= MAX_NOTIFICATIONS:
            return [Notice(Level.WARNING, f"dropped {method}: too many notifications wait already")]
        self._notifications.append(lambda: self.post(method, headers(), body)[0])
        return self._next_notification()

    def stream(self, headers: Headers) -> tuple[Exchange, Request]:
        """Begin a GET whose response is a stream of the server's own messages."""
        request = Request(self._number(), Verb.GET, headers, standing=True)
        return self._begin("the standing stream", request), request

    def delete(self, headers: Headers) -> Request:
        """Begin the DELETE of a session."""
        request = Request(self._number(), Verb.DELETE, headers)
        self._begin("DELETE of the session", request).persistent = False
        return request

    def _number(self) -> ExchangeId:
        return ExchangeId(next(self._numbers))

    def _begin(self, method: str, request: Request) -> Exchange:
        exchange = self._open[request.exchange] = Exchange(request.exchange, method, request)
        return exchange

    def _next_notification(self) -> list[Command]:
        if self._notification is not None or not self._notifications:
            return []
        self._notification = self._notifications.popleft()()
        return [self._notification.request]

    # -- looking at them, and ending them --

    def is_open(self, exchange: Exchange) -> bool:
        return any(each is exchange for each in self)

    def of(self, call: Call) -> Exchange | None:
        """The exchange that is to bring the answer of ``call``."""
        return next((each for each in self if each.call is call and not each.settled), None)

    def abort(self, exchange: Exchange) -> Command:
        """Close an exchange at once and forget it."""
        for timer, waiting in self._waiting.items():
            if waiting is exchange:
                del self._waiting[timer]
                return ClearTimer(timer)
        del self._open[exchange.id]
        return Abort(exchange.id)

    def release(self, exchange: Exchange) -> list[Command]:
        """Expect nothing more from an exchange, but let the server end it in its own time."""
        exchange.settled = True
        if exchange.id not in self._open:
            return [self.abort(exchange)]  # it waits to be sent again, for nothing now
        if self._sweeping:
            return []
        self._sweeping = True
        return [SetTimer(self._linger, LINGER_SECONDS)]

    # -- what happens to them --

    def concern(self, event: Event) -> bool:
        """Whether an event is of one of these exchanges, and so of nobody else."""
        return getattr(event, "exchange", None) in self._open

    def receive(self, event: Event) -> list[Arrival]:
        """What an event means; nothing for one that is not about these exchanges."""
        match event:
            case ServerSent(exchange=number) if number in self._open:  # by far the most frequent
                return self._sent(self._open[number], event)
            case ServerAnswered(exchange=number) if number in self._open:
                return self._head(self._open[number], event)
            case ServerEnded(exchange=number) if number in self._open:
                return self._ended(self._open.pop(number))
            case ServerFailed(exchange=number) if number in self._open:
                return self._failed(self._open.pop(number), event)
            case TimerFired(timer=timer) if timer == self._linger:
                return self._swept()
            case TimerFired(timer=timer) if timer in self._waiting:
                return [self._send_again(self._waiting.pop(timer))]
            case _:
                pass
        return []

    def _head(self, exchange: Exchange, event: ServerAnswered) -> list[Arrival]:
        if exchange.loss is not None:
            return self._resumed(exchange, event)
        exchange.begin(event.status, event.headers)
        wait = retries.retry_after(event.status, event.headers)
        if wait is not None and wait <= retries.MAX_RETRY_AFTER and self._persists(exchange):
            exchange.tries += 1
            if exchange.tries <= retries.MAX_REFUSALS:
                del self._open[exchange.id]
                told = f"{exchange.method}: HTTP {event.status}, sent again in {wait:g} s as asked"
                return [Abort(exchange.id), Notice(Level.INFO, told), self._wait(exchange, wait)]
        if exchange.expects is not None or event.status >= 300:
            return []
        if exchange.standing:
            return [Accepted(exchange)]
        exchange.settled = True
        arrivals: list[Arrival] = [Accepted(exchange), *self._taken(exchange)]
        return arrivals + (self.release(exchange) if exchange.is_stream else [])

    def _sent(self, exchange: Exchange, event: ServerSent) -> list[Arrival]:
        if event.event_id is not None:
            exchange.last_event_id = event.event_id
        if event.retry is not None:
            exchange.retry = event.retry
        if exchange.is_stream:
            exchange.tries = 0
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
        if exchange.loss is not None:
            # Servers keep a resumed stream open after the response.
            return [Answered(exchange, message), self.abort(exchange)]
        return [
            Answered(exchange, message),
            *(self.release(exchange) if exchange.is_stream else ()),
        ]

    def _ended(self, exchange: Exchange) -> list[Arrival]:
        """A response that is complete is a problem unless it did what it was asked for."""
        if exchange.settled or (exchange.standing and exchange.status < 300):
            return [Over(exchange), *self._taken(exchange)]
        problem = outcomes.unanswered(
            exchange.status,
            exchange.headers,
            exchange.evidence,
            exchange.method,
            in_session=exchange.in_session,
        )
        return self._lost(exchange, Over(exchange, problem))

    def _failed(self, exchange: Exchange, event: ServerFailed) -> list[Arrival]:
        if exchange.settled:
            return [Over(exchange), *self._taken(exchange)]
        if exchange.loss is None and self._persists(exchange):
            wait = self._reconnection(exchange, event)
            if wait is not None:
                exchange.tries += 1
                if exchange.call is not None:
                    exchange.call.sent = event.may_have_executed
                again = "" if exchange.tries > 1 else _again(exchange, event)
                notices = [Notice(Level.WARNING, again)] if again else []
                return [*notices, self._wait(exchange, wait)]
        problem = outcomes.failed(
            event.failure,
            event.detail,
            exchange.method,
            may_have_executed=event.may_have_executed,
        )
        return self._lost(exchange, Over(exchange, problem, event.failure))

    def _taken(self, exchange: Exchange) -> list[Command]:
        """A notification is out of the way of the next one."""
        if exchange is not self._notification:
            return []
        self._notification = None
        return self._next_notification()

    # -- once more --

    def _persists(self, exchange: Exchange) -> bool:
        wanted = not exchange.settled and not exchange.standing
        return self._patient and exchange.persistent and wanted

    def _reconnection(self, exchange: Exchange, event: ServerFailed) -> float | None:
        """The pause before a request is sent again that cannot have been read, or is harmless."""
        unsent = event.failure is Failure.CONNECT or (
            event.failure is Failure.CLOSED and not event.may_have_executed
        )
        if exchange.status:
            return None
        if unsent and exchange.tries < len(retries.RECONNECT_SECONDS):
            return retries.RECONNECT_SECONDS[exchange.tries]
        lost = event.failure is Failure.CLOSED
        harmless = exchange.method in retries.IDEMPOTENT and exchange.tries == 0
        return 0.0 if lost and harmless else None

    def _lost(self, exchange: Exchange, over: Over) -> list[Arrival]:
        """Resume a stream that broke off before its response, or give it up."""
        over = exchange.loss or over
        stream = exchange.is_stream and exchange.status < 300
        resumable = exchange.resumable and exchange.last_event_id is not None and stream
        if not resumable or exchange.tries >= retries.MAX_RESUMPTIONS:
            return [over, *self._taken(exchange)]
        exchange.loss = over
        wait = retries.resume_after(exchange.retry, exchange.tries)
        exchange.tries += 1
        return [self._wait(exchange, wait)]

    def _resumed(self, exchange: Exchange, event: ServerAnswered) -> list[Arrival]:
        """The head of a resumption: a refusal for good says nothing of the request itself."""
        if event.status < 300 and is_event_stream(event.headers.get("content-type", "")):
            exchange.headers = {**exchange.headers, **event.headers}
            return []
        del self._open[exchange.id]
        if event.status < 500 and event.status != 429:
            exchange.tries = retries.MAX_RESUMPTIONS
        told = f"{exchange.method}: its stream cannot be resumed (HTTP {event.status})"
        assert exchange.loss is not None, "only what was lost is resumed"
        return [
            Abort(exchange.id),
            Notice(Level.WARNING, told),
            *self._lost(exchange, exchange.loss),
        ]

    def _wait(self, exchange: Exchange, seconds: float) -> SetTimer:
        timer = TimerId(f"again:{next(self._numbers)}")
        self._waiting[timer] = exchange
        return SetTimer(timer, seconds)

    def _send_again(self, exchange: Exchange) -> Request:
        exchange.id = self._number()
        self._open[exchange.id] = exchange
        first = exchange.request
        if exchange.loss is None:
            if exchange.call is not None:
                exchange.call.sent = True
            return Request(exchange.id, first.verb, first.headers, first.body, first.target)
        session = tuple(each for each in first.headers if each[0] in SESSION_HEADERS)
        begun = exchange.headers.get("mcp-session-id", "")
        if not session and is_visible_ascii(begun):
            session = legacy_session(begun, None)  # it is the request that has begun this session
        return Request(exchange.id, Verb.GET, stream_get(session, exchange.last_event_id))

    def _swept(self) -> list[Arrival]:
        """Close what has lingered for a whole interval; look again later if more lingers."""
        self._sweeping = False
        arrivals: list[Arrival] = []
        lingering = [exchange for exchange in self._open.values() if exchange.settled]
        for exchange in lingering:
            exchange.sweeps += 1
            if exchange.sweeps > 1:
                arrivals += [self.abort(exchange), *self._taken(exchange)]
        if any(exchange.settled for exchange in self._open.values()):
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


def _again(exchange: Exchange, event: ServerFailed) -> str:
    reason = event.detail or event.failure.value
    return f"{exchange.method} could not be sent, trying again: {reason}"
