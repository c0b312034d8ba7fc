"""Streamable HTTP: each message a POST, the session a header (2025-03-26 to 2025-11-25)."""

from __future__ import annotations

from relay.core.commands import ClearTimer, Command, SetTimer
from relay.core.era import Context
from relay.core.errors import Code, Problem
from relay.core.events import Event, TimerFired, TimerId
from relay.core.exchanges import (
    Accepted,
    Answered,
    Arrival,
    Exchange,
    Exchanges,
    Over,
    Received,
)
from relay.core.headers import Headers, is_visible_ascii, legacy_post, legacy_session
from relay.core.inflight import Call
from relay.core.legacy.channel import Lost
from relay.core.legacy.loss import tells_of_loss
from relay.core.legacy.standing import StandingStream
from relay.core.messages import Fields, RequestId, problem_of, text_of

ENDING_SECONDS = 0.3
"""How long the end of a session waits for the server to end what has been cancelled in it."""

_LOST = Problem(Code.INTERNAL_ERROR, "the server has ended the session")


class StreamableHttp:
    """A session over streamable HTTP (:class:`relay.core.legacy.channel.Channel`)."""

    def __init__(self, context: Context) -> None:
        self._exchanges = Exchanges("legacy", context.numbers)
        self._standing = StandingStream(self._exchanges, context.numbers)
        self._session: str | None = None
        self._version: str | None = None
        self._released: list[Exchange] = []  # of calls that nobody waits for any more
        self._ending: Headers | None = None  # of the session that is to be ended
        self._ending_timer = TimerId(f"ending:{next(context.numbers)}")

    @property
    def busy(self) -> bool:
        return self._exchanges.busy or self._ending is not None

    def post(
        self,
        method: str,
        body: bytes,
        *,
        expects: RequestId | None = None,
        call: Call | None = None,
    ) -> tuple[Exchange, list[Command]]:
        headers = legacy_post(self._session, self._version)
        exchange, request = self._exchanges.post(
            method, headers, body, expects=expects, call=call, resumable=True
        )
        return exchange, [request]

    def notify(self, method: str, body: bytes) -> list[Command]:
        return self._exchanges.notify(
            method, lambda: legacy_post(self._session, self._version), body
        )

    def receive(self, event: Event) -> list[Arrival | Lost]:
        if isinstance(event, TimerFired) and event.timer == self._standing.timer:
            return [*self._standing.ask()]
        if isinstance(event, TimerFired) and event.timer == self._ending_timer:
            self._released.clear()
            return [*self._end()]
        return [*self._arrivals(event), *self._end()]

    def _arrivals(self, event: Event) -> list[Arrival | Lost]:
        arrivals: list[Arrival | Lost] = []
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Answered(exchange=exchange, message=message):
                    if self._is_current(exchange) and tells_of_loss(exchange, message):
                        arrivals.append(Lost(problem_of(message.error) or _LOST))
                    arrivals.append(arrival)
                case Accepted(exchange=exchange) if exchange.standing:
                    self._standing.opened(exchange)
                case Over() if arrival.exchange.standing:
                    arrivals += self._standing_over(arrival)
                case Over(exchange=exchange, problem=problem) if problem is not None:
                    if self._is_current(exchange) and tells_of_loss(exchange):
                        arrivals.append(Lost(problem))
                    arrivals.append(arrival)
                case Received(exchange=exchange) if exchange.standing:
                    self._standing.heard()
                    arrivals.append(arrival)
                case _:
                    arrivals.append(arrival)
        return arrivals

    def _standing_over(self, over: Over) -> list[Arrival | Lost]:
        current = self._is_current(over.exchange)
        if current and over.problem is not None and self._standing.tells_of_loss(over.exchange):
            return [Lost(over.problem)]
        return [*self._standing.over(over)]

    def _is_current(self, exchange: Exchange) -> bool:
        return self._session is not None and exchange.session == self._session

    def open_exchanges(self) -> list[Exchange]:
        return [each for each in self._exchanges if not each.settled and not each.standing]

    def of(self, call: Call) -> Exchange | None:
        return self._exchanges.of(call)

    def is_open(self, exchange: Exchange) -> bool:
        return self._exchanges.is_open(exchange)

    def release(self, exchange: Exchange) -> list[Command]:
        self._released = [each for each in self._released if self._exchanges.is_open(each)]
        self._released.append(exchange)
        return [*self._exchanges.release(exchange)]

    def adopt(self, exchange: Exchange, result: Fields) -> None:
        """Take session id and version from a successful answer alone.

        Servers attach ids of sessions that they have discarded already to their refusals.
        """
        session = exchange.headers.get("mcp-session-id", "")
        version = text_of(result.get("protocolVersion")) or ""
        self._session = session if is_visible_ascii(session) else None
        self._version = version if is_visible_ascii(version) else None

    def begin(self) -> list[Command]:
        return self._standing.begin(legacy_session(self._session, self._version))

    def reset(self) -> list[Command]:
        self._session = self._version = None
        return self._standing.stop()

    def close(self) -> list[Command]:
        commands = self._standing.stop()
        if self._session is None:
            return commands
        self._ending = legacy_session(self._session, self._version)
        self._session = None
        return [*commands, SetTimer(self._ending_timer, ENDING_SECONDS), *self._end()]

    def _end(self) -> list[Command]:
        """End the session once the server has taken the cancellations and what they cancel is over.

        Servers accept a message before they take it up, and what a session has not heard by its
        end goes with it: the call would run on.
        """
        if self._ending is None or self._exchanges.busy:
            return []
        if any(self._exchanges.is_open(each) for each in self._released):
            return []
        headers, self._ending = self._ending, None
        return [ClearTimer(self._ending_timer), self._exchanges.delete(headers)]
