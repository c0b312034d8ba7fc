"""The stream on which a server speaks of its own accord: one GET, begun anew whenever it ends.

It is optional on both sides (2025-11-25, basic/transports, "Listening for Messages from the
Server"), so nothing waits for it and the client never hears of its troubles.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay.core.commands import ClearTimer, Command, Level, Notice, SetTimer
from relay.core.events import TimerId
from relay.core.exchanges import Exchange, Exchanges, Over
from relay.core.headers import Headers, stream_get
from relay.core.legacy.loss import stream_tells_of_loss

FIRST_SECONDS = 1.0
"""The pause before the stream is asked for again, unless the server names one with ``retry``."""

LONGEST_SECONDS = 30.0
"""What the pause doubles up to while the stream brings nothing."""

SHORTEST_SECONDS = 0.1
"""The least pause, whatever ``retry`` says."""


class StandingStream:
    """The standing stream of one session after the other."""

    def __init__(self, exchanges: Exchanges, numbers: Iterator[int]) -> None:
        self._exchanges = exchanges
        self.timer = TimerId(f"standing:{next(numbers)}")
        self._session: Headers = ()
        self._exchange: Exchange | None = None
        self._begun = False
        self._was_open = False
        self._warned = False
        self._fruitless = 0  # endings in a row before which the stream had brought nothing
        self._seconds = FIRST_SECONDS
        self._last_event_id: str | None = None

    def begin(self, session: Headers) -> list[Command]:
        """Ask for the stream of a session; asking twice changes nothing."""
        if self._begun:
            return []
        self._begun = True
        self._session = session
        return self.ask()

    def ask(self) -> list[Command]:
        """Ask for the stream, or for what has been missed of it."""
        headers = stream_get(self._session, self._last_event_id or None)
        self._exchange, request = self._exchanges.stream(headers)
        return [request]

    def stop(self) -> list[Command]:
        """Close the stream and forget its session."""
        exchange, begun = self._exchange, self._begun
        self._exchange, self._session, self._begun = None, (), False
        self._was_open = self._warned = False
        self._fruitless, self._seconds, self._last_event_id = 0, FIRST_SECONDS, None
        if exchange is not None and self._exchanges.is_open(exchange):
            return [self._exchanges.abort(exchange)]
        return [ClearTimer(self.timer)] if begun else []

    def opened(self, exchange: Exchange) -> None:
        self._was_open = self._was_open or exchange.is_stream

    def heard(self) -> None:
        """The stream has brought something: there is a point in asking for it soon again."""
        self._fruitless = 0

    def tells_of_loss(self, exchange: Exchange) -> bool:
        """Whether the end of the stream is that of its session."""
        return stream_tells_of_loss(exchange, was_open=self._was_open)

    def over(self, over: Over) -> list[Command]:
        """Ask again after a pause, or never again in this session if the server refuses."""
        exchange, self._exchange = over.exchange, None
        if _is_refused(exchange):
            return [Notice(Level.DEBUG, f"no standing stream (HTTP {exchange.status})")]
        if exchange.last_event_id is not None:
            self._last_event_id = exchange.last_event_id
        if exchange.retry is not None:
            self._seconds = max(exchange.retry / 1000, SHORTEST_SECONDS)
        longest = max(LONGEST_SECONDS, self._seconds)
        pause = min(self._seconds * 2.0**self._fruitless, longest)
        self._fruitless = min(self._fruitless + 1, 10)
        return [self._report(over), SetTimer(self.timer, pause)]

    def _report(self, over: Over) -> Notice:
        """One warning for all the troubles of a session's stream; ending is no trouble."""
        if over.problem is None:
            return Notice(Level.DEBUG, "the standing stream has ended")
        level = Level.DEBUG if self._warned else Level.WARNING
        self._warned = True
        return Notice(level, f"the standing stream is asked for again: {over.problem.message}")


def _is_refused(exchange: Exchange) -> bool:
    """Whether there is no point in asking again."""
    if exchange.status < 300:
        return exchange.status > 0 and not exchange.is_stream
    return exchange.status < 500 and exchange.status != 429
