"""One standing ``subscriptions/listen``, whatever becomes of its streams.

As the filter of a stream cannot be changed, another stream takes its place with each change: the
old one is kept until the new one has been acknowledged, and for a moment longer, since what it
was told before may still be on the way. A stream that was lost is opened again, and as nothing is
replayed it is said that something may have been missed; one that the server has ended in good
order is left at that until the client wants something else, or shows that it still wants the same
(2026-07-28, basic/patterns/subscriptions).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum, auto

import msgspec

from relay.core import messages
from relay.core.commands import ClearTimer, Command, Level, Notice, SetTimer
from relay.core.era import LISTEN, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event, TimerFired, TimerId
from relay.core.exchanges import Accepted, Answered, Exchange, Exchanges, Over, Received
from relay.core.headers import modern_post
from relay.core.messages import Fields, Kind, Message, RequestId
from relay.core.modern.filters import ACKNOWLEDGED, Filter, Hint, acknowledged, hint_of
from relay.core.modern.refusals import NO_LISTEN, Refusal, lost, refused

ACKNOWLEDGE_SECONDS = 20.0
"""How long a stream may take to be acknowledged; some servers hold a head back for 15 s."""

OVERLAP_SECONDS = 1.0
"""How long the old stream is still listened to beside the new one."""

MAX_OLD = 4
"""Old streams that are listened to at most; beyond that the oldest is closed at once."""

MAX_OVERLAP = 1024
"""Different things that may change meanwhile; with more of them the old streams are closed."""

RETRY_SECONDS = 1.0
"""The pause before a stream that was lost is opened again; doubled each time."""

MAX_RETRY_SECONDS = 30.0
"""The longest pause; a stream that stands for as long has proved itself."""

_SILENT = Refusal(
    Problem(
        Code.INTERNAL_ERROR,
        f"the server did not acknowledge the subscription within {ACKNOWLEDGE_SECONDS:g} s",
        {"hint": "check the server's log; subscribe again later"},
    ),
    passing=True,
)


class Opened(msgspec.Struct, frozen=True):
    """A stream tells of ``told``, which may be less than what was ``asked``.

    ``missed`` says that there was a time without a stream before it.
    """

    asked: Filter
    told: Filter
    missed: bool


class NotOpened(msgspec.Struct, frozen=True):
    """There is no stream for what was ``asked``; the next :meth:`Listening.want` decides more."""

    asked: Filter
    error: Problem | msgspec.Raw


class Ended(msgspec.Struct, frozen=True):
    """The server has ended the stream in good order, and nothing tells why.

    It may be going down, or have had more to tell than its backlog holds: some was lost then.
    """


class Told(msgspec.Struct, frozen=True):
    """The server tells of a change, or says something of its own (then there is no ``hint``)."""

    message: Message
    hint: Hint | None


Report = Opened | NotOpened | Ended | Told | Command


class _Pace(Enum):
    READY = auto()
    HURT = auto()  # something went wrong: a pause comes first
    PAUSING = auto()
    RESTING = auto()  # the server has refused it: not before something else is wanted
    ENDED = auto()  # the server has ended it: not before something is wanted, be it the same


class _Stream(msgspec.Struct, eq=False):
    """``filter`` is what it asks for, and from its acknowledgement on what it tells.

    ``timer`` limits the time to its acknowledgement, and later its time as an old stream.
    ``behind`` counts what others have told meanwhile and it has not.
    """

    listen_id: RequestId
    filter: Filter
    timer: TimerId
    behind: Counter[Hint] = msgspec.field(default_factory=Counter)


class Listening:
    """Keeps a stream open for what is wanted, as far as the server lets it.

    ``envelope`` puts the reserved keys of ``_meta`` into the params of a request in ``version``.
    """

    def __init__(
        self, context: Context, version: str, envelope: Callable[[Fields], Fields]
    ) -> None:
        self._inflight = context.inflight
        self._version = version
        self._envelope = envelope
        self._exchanges = Exchanges("listen", context.numbers)
        number = next(context.numbers)
        self._retry = TimerId(f"listen-retry:{number}")
        self._steady = TimerId(f"listen-steady:{number}")
        self._wanted = Filter()
        self._next: _Stream | None = None  # not acknowledged yet
        self._current: _Stream | None = None
        self._old: list[_Stream] = []  # the oldest first
        self._missed = False
        self._pace = _Pace.READY
        self._pause = RETRY_SECONDS

    @property
    def told(self) -> Filter:
        """What is told now, and will be by the stream that is about to take over."""
        told = Filter() if self._current is None else self._current.filter
        return told if self._next is None else told & self._next.filter

    @property
    def _streams(self) -> list[_Stream]:
        return [each for each in (self._next, self._current, *self._old) if each is not None]

    # -- what is wanted --

    def want(self, wanted: Filter, *, now: bool = False) -> list[Command]:
        """Listen for ``wanted`` and nothing else. ``now``: whatever the server did before."""
        self._wanted = wanted
        commands: list[Command] = []
        if now:
            self._pace = _Pace.READY
            commands.append(ClearTimer(self._retry))
        return commands + self._review()

    def resume(self) -> list[Command]:
        """What is wanted still is: listen again, after a pause, if the server has ended it."""
        if self._pace is not _Pace.ENDED:
            return []
        self._pace = _Pace.HURT
        return self._review()

    def _review(self) -> list[Command]:
        """Open a stream if what is wanted is not what is told; changes meanwhile wait for it."""
        if not self._wanted:
            return self.close()
        told = Filter() if self._current is None else self._current.filter
        if self._next is not None or self._wanted == told:
            return []
        if self._pace is _Pace.READY:
            return self._open()
        if self._pace is _Pace.HURT:
            self._pace = _Pace.PAUSING
            pause, self._pause = self._pause, min(2 * self._pause, MAX_RETRY_SECONDS)
            return [SetTimer(self._retry, pause)]
        return []

    def _open(self) -> list[Command]:
        listen_id = self._inflight.new_id()
        params = self._envelope(self._wanted.params())
        headers = modern_post(LISTEN, self._version, params)
        body = messages.request(listen_id, LISTEN, params)
        exchange, request = self._exchanges.post(LISTEN, headers, body, expects=listen_id)
        self._next = _Stream(listen_id, self._wanted, TimerId(f"listen-stream:{exchange.id}"))
        return [request, SetTimer(self._next.timer, ACKNOWLEDGE_SECONDS)]

    def close(self) -> list[Command]:
        """Want nothing any more."""
        commands: list[Command] = [ClearTimer(self._retry), ClearTimer(self._steady)]
        for stream in self._streams:
            commands += self._close(stream)
        self._wanted = Filter()
        self._next = self._current = None
        self._old.clear()
        self._missed = False
        self._pace = _Pace.READY
        return commands

    def _close(self, stream: _Stream) -> list[Command]:
        aborts = [
            self._exchanges.abort(exchange)
            for exchange in self._exchanges
            if exchange.expects == stream.listen_id
        ]
        return [ClearTimer(stream.timer), *aborts]

    def _close_old(self, *streams: _Stream) -> list[Command]:
        """Let old streams go, and what the others are behind them: it would keep back news."""
        commands: list[Command] = []
        for stream in streams:
            self._old.remove(stream)
            commands += self._close(stream)
            for each in self._streams:
                each.behind.clear()
        return commands

    # -- what the server does --

    def receive(self, event: Event) -> list[Report]:
        """What an event means; nothing for one that is not about these streams."""
        reports: list[Report] = []
        if isinstance(event, TimerFired):
            reports += self._timer(event.timer)
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Received(exchange=exchange, message=message):
                    reports += self._received(exchange, message)
                case Answered(exchange=exchange, message=message):
                    reports += self._answered(exchange, message)
                case Over(problem=Problem() as problem):
                    reports += self._over(arrival, problem)
                case Over() | Accepted():
                    pass
                case command:
                    reports.append(command)
        return reports

    def _timer(self, timer: TimerId) -> list[Report]:
        if timer == self._retry and self._pace is _Pace.PAUSING:
            self._pace = _Pace.READY
            return [*self._review()]
        if timer == self._steady:
            self._pause = RETRY_SECONDS
        if self._next is not None and timer == self._next.timer:
            return [*self._close(self._next), *self._not_opened(self._next, _SILENT)]
        return [*self._close_old(*(each for each in self._old if each.timer == timer))]

    def _stream_of(self, exchange: Exchange) -> _Stream | None:
        return next((each for each in self._streams if each.listen_id == exchange.expects), None)

    def _received(self, exchange: Exchange, message: Message) -> list[Report]:
        stream = self._stream_of(exchange)
        if stream is None or message.kind is not Kind.NOTIFICATION:
            return []
        if stream is self._next:
            is_first = message.method == ACKNOWLEDGED
            return self._acknowledged(stream, message) if is_first else []
        if not message.method.startswith("notifications/"):
            return [Told(message, None)] if stream is self._current else []
        hint = hint_of(message)
        if hint is None or not stream.filter.covers(hint):
            return []
        return self._told(stream, message, hint)

    def _acknowledged(self, stream: _Stream, message: Message) -> list[Report]:
        reports: list[Report] = [
            ClearTimer(stream.timer),
            SetTimer(self._steady, MAX_RETRY_SECONDS),
        ]
        if self._current is not None:
            self._old.append(self._current)
            reports.append(SetTimer(self._current.timer, OVERLAP_SECONDS))
        reports += self._close_old(*self._old[:-MAX_OLD])
        asked = stream.filter
        stream.filter = asked & acknowledged(message)
        self._current, self._next = stream, None
        self._pace = _Pace.READY
        missed, self._missed = self._missed, False
        return [*reports, Opened(asked, stream.filter, missed)]

    def _told(self, stream: _Stream, message: Message, hint: Hint) -> list[Report]:
        """Pass on what one of the streams tells, unless another one has done so already.

        Each of them tells of each change, in its own time. One that is behind brings nothing new;
        one that is not does, though it may be an old one: so nothing is lost in any order.
        """
        if stream.behind[hint] > 0:
            stream.behind[hint] -= 1
            return []
        others = [each for each in self._streams if each is not stream and each is not self._next]
        for other in others:
            other.behind[hint] += 1
        reports: list[Report] = [Told(message, hint)]
        if any(len(other.behind) > MAX_OVERLAP for other in others):
            reports += self._close_old(*self._old)
        return reports

    def _answered(self, exchange: Exchange, message: Message) -> list[Report]:
        stream = self._stream_of(exchange)
        if stream is None or stream is not self._next:
            return self._ended(stream, in_order=message.error is None)
        return self._not_opened(stream, refused(message))

    def _over(self, over: Over, problem: Problem) -> list[Report]:
        stream = self._stream_of(over.exchange)
        if stream is None or stream is not self._next:
            return self._ended(stream, in_order=False)
        return self._not_opened(stream, lost(over, problem))

    def _not_opened(self, stream: _Stream, why: Refusal) -> list[Report]:
        """A stream was refused or lost before it was acknowledged."""
        self._next = None
        self._pace = _Pace.HURT if why.passing else _Pace.RESTING
        # One warning for each time of trouble; none for what a server simply does not have.
        loud = self._pause == RETRY_SECONDS and why is not NO_LISTEN
        level = Level.WARNING if loud else Level.DEBUG
        return [
            ClearTimer(stream.timer),
            Notice(level, f"{LISTEN}: {why.text[:200]}"),
            NotOpened(stream.filter, why.error),
        ]

    def _ended(self, stream: _Stream | None, *, in_order: bool) -> list[Report]:
        """A stream is over that was acknowledged: in good order if the server said so."""
        if stream is None or stream is not self._current:
            return [] if stream is None else [*self._close_old(stream)]
        self._current, self._missed = None, True
        self._pace = _Pace.ENDED if in_order else _Pace.HURT
        how = "the server ended it" if in_order else "the stream was lost"
        notice = Notice(Level.INFO if in_order else Level.WARNING, f"{LISTEN}: {how}")
        reports: list[Report] = [notice, ClearTimer(self._steady), *self._close_old(*self._old)]
        return [*reports, *([Ended()] if in_order else []), *self._review()]
