"""The standing stream of HTTP+SSE: opened, heard and found broken, without knowing what it is for.

Its first event, ``endpoint``, tells that the server speaks 2024-11-05 and where messages go
(basic/transports, "HTTP with SSE").
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

import msgspec

from relay.core import messages
from relay.core.commands import ClearTimer, Command, Level, Notice, SetTimer
from relay.core.errors import Code, Malformed, Problem
from relay.core.events import Event, Failure, ServerFailed, ServerSent, TimerFired, TimerId
from relay.core.exchanges import Accepted, Answered, Exchange, Exchanges, Over, Received, notice
from relay.core.headers import stream_get

RETRY_SECONDS = 0.5
"""The pause before a stream is asked for again; it doubles with each one lost in a row."""

MAX_RETRY_SECONDS = 8.0

_PASSING_FAILURES = frozenset({Failure.CONNECT, Failure.CLOSED})
_NO_ENDPOINT = Problem(
    Code.INTERNAL_ERROR,
    "the server named no endpoint for messages: there is no HTTP+SSE at the URL",
    {"hint": "check the URL, it often ends in /sse; or give --transport streamable-http"},
)


class Connected(msgspec.Struct, frozen=True):
    """The stream is open; ``endpoint`` is the URI reference that messages are sent to."""

    endpoint: str


class Refused(msgspec.Struct, frozen=True):
    """The stream did not open, and is not asked for any more."""

    problem: Problem


class Broken(msgspec.Struct, frozen=True):
    """An open stream ended, in whatever way."""

    failure: Failure
    detail: str


Happening = Connected | Refused | Broken | Received | Command


class _State(Enum):
    CLOSED = auto()
    OPENING = auto()  # asked for, or about to be asked for again
    OPEN = auto()


class EventStream:
    """One stream at a time. ``numbers`` gives ids that are unique in the whole session."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._exchanges = Exchanges("sse-stream", numbers)
        number = next(numbers)
        self._deadline = TimerId(f"sse-endpoint:{number}")
        self._again = TimerId(f"sse-again:{number}")
        self._state = _State.CLOSED
        self._exchange: Exchange | None = None
        self._trouble: Problem | None = None  # why it has not opened yet
        self._losses = 0  # in a row

    @property
    def is_open(self) -> bool:
        return self._state is _State.OPEN

    @property
    def is_opening(self) -> bool:
        return self._state is _State.OPENING

    def open(self, seconds: float) -> list[Command]:
        """Ask for a stream unless there is one; the endpoint has ``seconds`` to come.

        What a server that starts or restarts says meanwhile is waited out.
        """
        if self._state is not _State.CLOSED:
            return []
        self._state = _State.OPENING
        self._trouble = None
        if not self._losses:
            return [SetTimer(self._deadline, seconds), self._ask()]
        pause = min(RETRY_SECONDS * 2.0 ** (self._losses - 1), MAX_RETRY_SECONDS)
        return [SetTimer(self._deadline, seconds + pause), SetTimer(self._again, pause)]

    def close(self) -> list[Command]:
        commands: list[Command] = []
        if self._state is _State.OPENING:
            commands += [ClearTimer(self._deadline), ClearTimer(self._again)]
        if self._exchange is not None:
            commands.append(self._exchanges.abort(self._exchange))
        self._state, self._exchange = _State.CLOSED, None
        return commands

    def prove(self) -> None:
        """Take note that streams of this server are of use, so that the next may come at once."""
        self._losses = 0

    def receive(self, event: Event) -> list[Happening]:
        match event:
            case TimerFired(timer=timer) if self._state is _State.OPENING:
                if timer == self._again:
                    return [self._ask()]
                if timer == self._deadline:
                    return self._give_up(self._trouble or _NO_ENDPOINT)
            case ServerSent() if self._brings(event):
                return self._heard(event)
        happenings: list[Happening] = []
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Over():
                    happenings += self._over(arrival, event)
                case Accepted() | Answered():
                    pass  # the endpoint is what counts, and this stream is no answer
                case other:
                    happenings.append(other)
        return happenings

    def _ask(self) -> Command:
        self._exchange, request = self._exchanges.stream(stream_get(()))
        return request

    def _brings(self, event: ServerSent) -> bool:
        """Whether an event is one of the stream: a refusal may well have a body too."""
        stream = self._exchange
        if stream is None or stream.id != event.exchange:
            return False
        return stream.is_stream and stream.status < 300

    def _heard(self, event: ServerSent) -> list[Happening]:
        stream = self._exchange
        if event.event == "endpoint" and self._state is _State.OPENING:
            return self._connected(event.data.decode(errors="replace").strip())
        if event.event != "message" or not event.data or stream is None:
            return []
        try:
            return [Received(stream, message) for message in messages.parse_server(event.data)]
        except Malformed as error:
            return [Notice(Level.WARNING, f"dropped from the event stream: not JSON-RPC, {error}")]

    def _connected(self, endpoint: str) -> list[Happening]:
        if not endpoint or not endpoint.isprintable():
            return self._give_up(_NO_ENDPOINT)
        self._state = _State.OPEN
        return [ClearTimer(self._deadline), Connected(endpoint)]

    def _over(self, over: Over, event: Event) -> list[Happening]:
        self._exchange = None
        if self.is_open:
            self._losses += 1
            self._state = _State.CLOSED
            if isinstance(event, ServerFailed):
                return [Broken(event.failure, event.detail)]
            return [Broken(Failure.CLOSED, "the server ended its event stream")]
        problem, status = over.problem or _NO_ENDPOINT, over.exchange.status
        if over.failure not in _PASSING_FAILURES and status != 429 and status < 500:
            return self._give_up(problem)
        notices = [notice(problem, "the event stream")] if self._trouble is None else []
        self._trouble = problem
        return [*notices, SetTimer(self._again, RETRY_SECONDS)]

    def _give_up(self, problem: Problem) -> list[Happening]:
        return [*self.close(), Refused(problem)]
