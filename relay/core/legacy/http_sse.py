"""HTTP+SSE of 2024-11-05: messages go up by POST, everything comes down one standing stream.

The stream is the session: what is open when it ends is lost, and the next stream is another
session (2024-11-05, basic/transports, "HTTP with SSE").
"""

from __future__ import annotations

from collections import deque

from msgspec.structs import replace

from relay.core import outcomes
from relay.core.commands import Command, Level, Notice, Request, SetTimer, Verb
from relay.core.era import BUSY, INITIALIZE, Context
from relay.core.errors import Problem
from relay.core.events import Event, ExchangeId, Failure, TimerFired, TimerId
from relay.core.exchanges import (
    Accepted,
    Answered,
    Arrival,
    Exchange,
    Exchanges,
    Over,
    Received,
    notice,
)
from relay.core.headers import JSON_POST
from relay.core.inflight import Call
from relay.core.legacy.channel import Lost
from relay.core.legacy.event_stream import Broken, Connected, EventStream, Happening, Refused
from relay.core.legacy.loss import tells_of_loss
from relay.core.messages import Fields, Kind, Message, RequestId

MAX_WAITING = 64
"""Messages that wait at most for the server to name its endpoint."""

MAX_RELEASED = 64
"""Requests that nobody wants answered any more and that are still known to be the server's."""


class _Posted(Exchange):
    """A message and what comes of it; its session is named by where it was sent."""

    @property
    def session(self) -> str | None:
        return self.request.target or None


class HttpSse:
    """A session over HTTP+SSE (:class:`relay.core.legacy.channel.Channel`).

    An exchange here is a message and, for a request, the response that the stream brings. The
    POST that carries it is an exchange of its own below, over as soon as the server has taken it.
    """

    def __init__(self, context: Context) -> None:
        self._numbers = context.numbers
        self._options = context.options
        self._stream = EventStream(context.numbers)
        self._posts = Exchanges("sse-posts", context.numbers)
        self._carried: dict[Exchange, Exchange] = {}  # by the POST that carries it
        self._open: list[Exchange] = []
        self._waiting: deque[Exchange] = deque()  # for the endpoint; notifications are not open
        self._reports: list[Arrival | Lost] = []  # to be made in a moment
        self._at_once = TimerId(f"sse-reports:{next(context.numbers)}")
        self._used = False  # something was sent in the session of this stream
        self._adopted = False
        self._closing = False

    @property
    def is_connected(self) -> bool:
        """Whether the server has named its endpoint."""
        return self._stream.is_open

    @property
    def is_connecting(self) -> bool:
        return self._stream.is_opening

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing under way, nothing open and nothing left to report."""
        unused = not (self.is_connected or self.is_connecting or self._reports or self._open)
        return unused and not tuple(self._posts)

    @property
    def busy(self) -> bool:
        return self._posts.busy or bool(self.open_exchanges())

    # -- what goes up --

    def post(
        self,
        method: str,
        body: bytes,
        *,
        expects: RequestId | None = None,
        call: Call | None = None,
    ) -> tuple[Exchange, list[Command]]:
        exchange = self._exchange(method, body)
        exchange.expects, exchange.call = expects, call
        if not self.is_connected and self._full(body):
            return exchange, self._later([Over(exchange, BUSY)])
        self._open.append(exchange)
        if self.is_connected:
            return exchange, [self._send(exchange)]
        return exchange, self._await_endpoint(exchange)

    def notify(self, method: str, body: bytes) -> list[Command]:
        if self.is_connected:
            return self._notify(method, body)
        if self._full(body):
            return [notice(BUSY, method)]
        return self._await_endpoint(self._exchange(method, body))

    def take(self, exchange: Exchange, seconds: float) -> list[Command]:
        """Carry on with a request that another channel failed to deliver.

        It is over if the server names no endpoint within ``seconds``.
        """
        self._open.append(exchange)
        self._waiting.append(exchange)
        return self._stream.open(seconds)

    def _exchange(self, method: str, body: bytes) -> Exchange:
        number = ExchangeId(next(self._numbers))
        return _Posted(number, method, Request(number, Verb.POST, JSON_POST, body))

    def _full(self, body: bytes) -> bool:
        size = sum(len(each.request.body) for each in self._waiting) + len(body)
        full = len(self._waiting) >= MAX_WAITING or size > self._options.max_line
        return full and bool(self._waiting)

    def _await_endpoint(self, exchange: Exchange) -> list[Command]:
        self._waiting.append(exchange)
        return self._stream.open(self._options.probe_timeout)

    def _send(self, exchange: Exchange) -> Command:
        self._used = True
        if self._adopted:
            exchange.request = replace(exchange.request, target=self._posts.target)
        post, request = self._posts.post(
            exchange.method,
            JSON_POST,
            exchange.request.body,
            expects=exchange.expects,
            call=exchange.call,
        )
        self._carried[post] = exchange
        return request

    def _notify(self, method: str, body: bytes) -> list[Command]:
        return self._posts.notify(method, lambda: JSON_POST, body)

    # -- the exchanges --

    def open_exchanges(self) -> list[Exchange]:
        return [each for each in self._open if not each.settled]

    def of(self, call: Call) -> Exchange | None:
        return next((each for each in self.open_exchanges() if each.call is call), None)

    def is_open(self, exchange: Exchange) -> bool:
        return exchange in self._open

    def release(self, exchange: Exchange) -> list[Command]:
        exchange.settled = True
        if exchange in self._waiting:
            self._waiting.remove(exchange)
            self._open.remove(exchange)
            return []
        released = [each for each in self._open if each.settled]
        if len(released) > MAX_RELEASED:
            self._open.remove(released[0])
        return self._let_go(exchange)

    def _let_go(self, exchange: Exchange) -> list[Command]:
        """Want nothing more of the POST that carries a request."""
        posts = [post for post, carried in self._carried.items() if carried is exchange]
        commands: list[Command] = []
        for post in posts:
            del self._carried[post]
            commands += self._posts.release(post)
        return commands

    def _later(self, reports: list[Arrival | Lost]) -> list[Command]:
        """Report something in a moment, where commands alone can be returned now."""
        self._reports += reports
        return [SetTimer(self._at_once, 0.0)] if reports else []

    # -- the session --

    def adopt(self, exchange: Exchange, result: Fields) -> None:
        """Know from now on that there is a session to lose; nothing else ties a POST to it."""
        self._adopted = True

    def begin(self) -> list[Command]:
        return []

    def reset(self) -> list[Command]:
        """Give up a stream that has been used: another session needs another one."""
        self._adopted = False
        if not (self.is_connected and self._used):
            return []
        closing = self._stream.close()
        return closing + self._later(self._unanswered(Failure.CLOSED, "the session begins anew"))

    def close(self) -> list[Command]:
        """Close the stream, once the server has taken the cancellations that are on their way."""
        self._adopted = False
        self._open = [each for each in self._open if each not in self._waiting]
        self._waiting.clear()
        self._closing = self.is_connected and self._posts.busy
        return [] if self._closing else self._stream.close()

    # -- what comes down --

    def receive(self, event: Event) -> list[Arrival | Lost]:
        arrivals: list[Arrival | Lost] = []
        if isinstance(event, TimerFired) and event.timer == self._at_once:
            arrivals, self._reports = self._reports, []
        for happening in self._stream.receive(event):
            arrivals += self._happened(happening)
        for arrival in self._posts.receive(event):
            arrivals += self._arrived(arrival)
        if self._closing and not self._posts.busy:
            self._closing = False
            arrivals += self._stream.close()
        return arrivals

    def _happened(self, happening: Happening) -> list[Arrival | Lost]:
        match happening:
            case Connected(endpoint=endpoint):
                return self._connected(endpoint)
            case Refused(problem=problem):
                return self._refused(problem)
            case Broken(failure=failure, detail=detail):
                return self._lost(failure, detail)
            case Received(message=message) if message.kind is Kind.RESPONSE:
                return self._response(message)
            case other:
                return [other]

    def _connected(self, endpoint: str) -> list[Arrival | Lost]:
        """Send what waited. Whether the endpoint is of the same origin, HTTP sees to."""
        self._posts.target = endpoint
        self._used = False
        commands: list[Arrival | Lost] = []
        while self._waiting:
            exchange = self._waiting.popleft()
            if exchange in self._open:
                commands.append(self._send(exchange))
            else:
                commands += self._notify(exchange.method, exchange.request.body)
        return commands

    def _refused(self, problem: Problem) -> list[Arrival | Lost]:
        """There is no stream: tell all that waited for it."""
        arrivals: list[Arrival | Lost] = []
        while self._waiting:
            exchange = self._waiting.popleft()
            if exchange in self._open:
                self._open.remove(exchange)
                arrivals.append(Over(exchange, problem))
            else:
                arrivals.append(notice(problem, exchange.method))
        return arrivals

    def _response(self, message: Message) -> list[Arrival | Lost]:
        if message.request_id is None:
            told = "dropped from the event stream: an error that names no request"
            return [Notice(Level.WARNING, f"{told}: {bytes(message.raw[:200])!r}")]
        asked = [each for each in self._open if each.expects == message.request_id]
        if not asked:
            told = "dropped from the event stream: a response that nothing waits for"
            return [Notice(Level.DEBUG, told)]
        asked.sort(key=lambda each: each.settled)  # the id of a cancelled one may be in use again
        return self._answered(asked[0], message)

    def _answered(self, exchange: Exchange, message: Message) -> list[Arrival | Lost]:
        self._open.remove(exchange)
        if exchange.settled:
            return []  # too late
        exchange.settled = True
        if exchange.method != INITIALIZE:
            self._stream.prove()
        return [
            Answered(exchange, message),
            *self._let_go(exchange),
            *self._loss_told_by(exchange, message),
        ]

    def _arrived(self, arrival: Arrival) -> list[Arrival | Lost]:
        """What came of a POST, said of what it carries."""
        if not isinstance(arrival, Accepted | Answered | Received | Over):
            return [arrival]
        post = arrival.exchange
        exchange = self._carried.get(post)
        if exchange is None:
            return [arrival]
        exchange.begin(post.status, post.headers)
        exchange.evidence = post.evidence
        match arrival:
            case Over():
                del self._carried[post]
                return self._delivered(exchange, arrival)
            case Accepted():
                del self._carried[post]
                self._open.remove(exchange)
                return [Accepted(exchange)]
            case Answered(message=message):
                return self._answered(exchange, message)
            case _:
                return [Received(exchange, arrival.message)]

    def _delivered(self, exchange: Exchange, over: Over) -> list[Arrival | Lost]:
        """The POST is over: a request that was taken is answered on the stream."""
        # A successful body that broke off may have been the answer, unless the status says not.
        taken = 200 <= exchange.status < 300 if over.failure is None else exchange.status == 202
        if exchange.expects is not None and taken:
            return []
        self._open.remove(exchange)
        return [Over(exchange, over.problem, over.failure), *self._loss_told_by(exchange)]

    def _loss_told_by(
        self, exchange: Exchange, message: Message | None = None
    ) -> list[Arrival | Lost]:
        """What else is over if a request was refused for want of the present session."""
        is_current = self.is_connected and exchange.session == self._posts.target
        if not (is_current and tells_of_loss(exchange, message)):
            return []
        told = f"the server does not know the session any more (HTTP {exchange.status})"
        return self._lost(Failure.CLOSED, told)

    def _lost(self, failure: Failure, detail: str) -> list[Arrival | Lost]:
        """The session is gone, and the answers that were to come in it."""
        arrivals = self._unanswered(failure, detail)
        if self._adopted:
            self._adopted = False
            problem = outcomes.failed(failure, detail, "the session", may_have_executed=False)
            arrivals.append(Lost(problem))
        return arrivals

    def _unanswered(self, failure: Failure, detail: str) -> list[Arrival | Lost]:
        arrivals: list[Arrival | Lost] = []
        for exchange in self.open_exchanges():
            if exchange.expects is not None:
                exchange.settled = True
                sent = exchange.call is None or exchange.call.sent
                problem = outcomes.failed(failure, detail, exchange.method, may_have_executed=sent)
                arrivals += [*self._let_go(exchange), Over(exchange, problem, failure)]
        self._open = self.open_exchanges()
        return arrivals
