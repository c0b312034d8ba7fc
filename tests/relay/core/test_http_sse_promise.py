"""The channel's promise: whatever its two kinds of exchange do, what was posted ends once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.core.commands import Abort, ClearTimer, Command, Request, SetTimer, Verb
from relay.core.era import Context
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
from relay.core.exchanges import Accepted, Answered, Exchange, Over, Received
from relay.core.inflight import Inflight
from relay.core.legacy.auto import AutoChannel
from relay.core.legacy.channel import Channel, Lost
from relay.core.legacy.http_sse import HttpSse
from relay.core.messages import RequestId
from relay.core.options import Options
from tests.relay.core.rig import JSON, STREAM, Json, error, notification, result

Draw = Callable[[st.SearchStrategy[Any]], Any]

METHODS = ["initialize", "initialize", "tools/call", "tools/list"]
STATUSES = [*[202] * 6, 200, 200, 400, 404, 404, 405, 500, 503]
ACTIONS = ["post", "post", "notify", "release", "adopt", "reset", "clock", *["serve"] * 8]
ENDINGS = ["end", "fail", "connect"]


class Bench:
    """Owns a channel, plays the server and counts how often each request ended."""

    def __init__(self, channel: Channel, draw: Draw) -> None:
        self._channel = channel
        self._draw = draw
        self._heads: dict[ExchangeId, int] = {}  # 0 before the head
        self._gets: set[ExchangeId] = set()
        self._timers: set[TimerId] = set()
        self._numbers = count(1)
        self.posted: list[Exchange] = []
        self.released: set[Exchange] = set()
        self.endings: Counter[Exchange] = Counter()
        self.adopted = False

    def connect(self) -> None:
        """Get as far as a named endpoint, by way of a refused POST where that comes first."""
        self._post("initialize")
        (number,) = self._heads
        if number not in self._gets:
            self._heads[number] = 405
            self._feed(ServerAnswered(number, 405, {}))
            self._end(number, "end")
        (stream,) = self._gets
        self._heads[stream] = 200
        self._feed(ServerAnswered(stream, 200, dict(STREAM)))
        self._feed(ServerSent(stream, b"/messages", "endpoint"))

    def _post(self, method: str) -> None:
        number = next(self._numbers)
        request_id = RequestId(str(number).encode())
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method})
        exchange, commands = self._channel.post(method, body, expects=request_id)
        self.posted.append(exchange)
        self._carry_out(commands)

    def act(self, action: str) -> None:
        match action:
            case "post":
                self._post(self._draw(st.sampled_from(METHODS)))
            case "notify":
                self._carry_out(self._channel.notify("notifications/x", b"{}"))
            case "release" if pending := self._pending():
                exchange = self._draw(st.sampled_from(pending))
                self.released.add(exchange)
                self._carry_out(self._channel.release(exchange))
            case "adopt" if self.posted:
                self.adopted = True
                self._channel.adopt(self.posted[-1], {})
            case "reset":
                self.adopted = False
                self._carry_out(self._channel.reset())
            case "clock" if self._timers:
                self._fire(self._draw(st.sampled_from(sorted(self._timers))))
            case "serve" if self._heads:
                self._serve(self._draw(st.sampled_from(sorted(self._heads))))
            case _:
                pass

    def _pending(self) -> list[Exchange]:
        return [each for each in self._channel.open_exchanges() if each in self.posted]

    def _serve(self, number: ExchangeId) -> None:
        if not self._heads[number]:
            is_get = number in self._gets
            self._heads[number] = 200 if is_get else self._draw(st.sampled_from(STATUSES))
            headers = STREAM if is_get else self._draw(st.sampled_from([JSON, JSON, STREAM, {}]))
            self._feed(ServerAnswered(number, self._heads[number], dict(headers)))
            if is_get and self._draw(st.integers(0, 3)):
                self._feed(ServerSent(number, b"/messages", "endpoint"))
        elif self._draw(st.integers(0, 3)):
            self._feed(ServerSent(number, self._message()))
        else:
            self._end(number, self._draw(st.sampled_from(ENDINGS)))

    def _message(self) -> bytes:
        number = self._draw(st.sampled_from([*range(1, len(self.posted) + 1), "other"]))
        kinds: list[Json] = [
            result(number, {}),
            result(number, {}),
            error(number, -32602),
            error(None, -32600),
            notification("notifications/message"),
        ]
        return msgspec.json.encode(self._draw(st.sampled_from(kinds)))

    def _end(self, number: ExchangeId, how: str) -> None:
        del self._heads[number]
        ends: dict[str, Event] = {
            "end": ServerEnded(number),
            "fail": ServerFailed(number, Failure.CLOSED, "reset", may_have_executed=True),
            "connect": ServerFailed(number, Failure.CONNECT, "refused", may_have_executed=False),
        }
        self._feed(ends[how])

    def _fire(self, timer: TimerId) -> None:
        self._timers.discard(timer)
        self._feed(TimerFired(timer))

    def _feed(self, event: Event) -> None:
        for arrival in self._channel.receive(event):
            match arrival:
                case Answered(exchange=exchange):
                    self.endings[exchange] += 1
                case Over(exchange=exchange, problem=problem):
                    # Without a problem it only says that nothing more comes.
                    self.endings[exchange] += problem is not None
                case Lost():
                    assert self.adopted, "only a session can be lost"
                    self.adopted = False
                    assert not self._pending(), "what was open is over before"
                case Accepted() | Received():
                    pass
                case command:
                    self._carry_out([command])

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Request(exchange=number, verb=verb):
                    self._heads[number] = 0
                    if verb is Verb.GET:
                        self._gets.add(number)
                case Abort(exchange=number):
                    assert number in self._heads, "only what is open can be closed"
                    del self._heads[number]
                case SetTimer(timer=timer):
                    self._timers.add(timer)
                case ClearTimer(timer=timer):
                    self._timers.discard(timer)
                case _:
                    pass

    def finish(self) -> None:
        """Break off all that is open and let all timers run out."""
        for _ in range(100):
            for number in sorted(self._heads):
                if number in self._heads:
                    self._end(number, "fail")
            for timer in sorted(self._timers):
                if timer in self._timers:
                    self._fire(timer)
            if not (self._heads or self._timers):
                return
        pytest.fail("the channel asks without end")


@pytest.mark.parametrize("make", [HttpSse, AutoChannel])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_what_is_posted_ends_once_or_not_at_all_once_it_is_released(
    make: Callable[[Context], Channel], data: st.DataObject
) -> None:
    channel = make(Context(Options(), Inflight(), count(1)))
    bench = Bench(channel, data.draw)
    if data.draw(st.integers(0, 3)):
        bench.connect()
    for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=10, max_size=60)):
        bench.act(action)
    bench.finish()
    for exchange in bench.posted:
        assert bench.endings[exchange] == (exchange not in bench.released), exchange
    assert channel.open_exchanges() == []
    assert not channel.busy
