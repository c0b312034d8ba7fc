"""One :class:`Exchanges` with a server at its other end, for tests of a single exchange."""

from __future__ import annotations

from itertools import count

import msgspec

from relay.core.commands import Abort, ClearTimer, Command, Notice, Request, SetTimer
from relay.core.events import (
    ExchangeId,
    Failure,
    ServerAnswered,
    ServerEnded,
    ServerFailed,
    ServerSent,
    TimerFired,
    TimerId,
)
from relay.core.exchanges import Arrival, Exchange, Exchanges, Over
from relay.core.headers import legacy_post
from relay.core.inflight import Call
from relay.core.messages import RequestId, parse_client
from tests.relay.core.rig import JSON, STREAM, result

CALL = parse_client(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}')
HEADERS = legacy_post("s1", "2025-11-25")
ANSWER = msgspec.json.encode(result(1, {}))


class Bench:
    """Carries out what the exchanges ask for, and remembers the last request."""

    def __init__(self) -> None:
        self.exchanges = Exchanges("test", count(1))
        self.call = Call(CALL, RequestId(b"1"))
        self.requests: list[Request] = []
        self.timers: dict[TimerId, float] = {}
        self.notices: list[str] = []
        self.aborted: list[ExchangeId] = []

    def take(self, arrivals: list[Arrival] | list[Command]) -> list[Arrival]:
        """Carry out the commands; return the rest."""
        rest: list[Arrival] = []
        for arrival in arrivals:
            match arrival:
                case Request():
                    self.requests.append(arrival)
                case SetTimer(timer=timer, seconds=seconds):
                    self.timers[timer] = seconds
                case ClearTimer(timer=timer):
                    del self.timers[timer]
                case Notice(text=text):
                    self.notices.append(text)
                case Abort(exchange=exchange):
                    self.aborted.append(exchange)
                case _:
                    rest.append(arrival)
        return rest

    def post(self, method: str = "tools/call", *, resumable: bool = True) -> Exchange:
        exchange, request = self.exchanges.post(
            method, HEADERS, CALL.raw, expects=RequestId(b"1"), call=self.call, resumable=resumable
        )
        self.requests.append(request)
        return exchange

    @property
    def last(self) -> Request:
        return self.requests[-1]

    def head(self, status: int = 200, **headers: str) -> list[Arrival]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.take(
            self.exchanges.receive(ServerAnswered(self.last.exchange, status, {**JSON, **named}))
        )

    def stream(self) -> list[Arrival]:
        return self.take(
            self.exchanges.receive(ServerAnswered(self.last.exchange, 200, dict(STREAM)))
        )

    def sent(
        self, data: bytes = b"", event_id: str | None = None, retry: int | None = None
    ) -> list[Arrival]:
        event = ServerSent(self.last.exchange, data, event_id=event_id, retry=retry)
        return self.take(self.exchanges.receive(event))

    def ended(self) -> list[Arrival]:
        return self.take(self.exchanges.receive(ServerEnded(self.last.exchange)))

    def failed(self, failure: Failure, *, may_have_executed: bool = True) -> list[Arrival]:
        event = ServerFailed(self.last.exchange, failure, "why", may_have_executed)
        return self.take(self.exchanges.receive(event))

    def wait(self) -> float:
        """Let the timer for the next try run out; return how long it was."""
        (timer,) = [name for name in self.timers if name.startswith("again:")]
        seconds = self.timers.pop(timer)
        self.take(self.exchanges.receive(TimerFired(timer)))
        return seconds

    @property
    def waits(self) -> bool:
        return any(name.startswith("again:") for name in self.timers)


def only(arrivals: list[Arrival]) -> Over:
    (over,) = arrivals
    assert isinstance(over, Over)
    return over
