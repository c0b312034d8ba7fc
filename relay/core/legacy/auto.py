"""Streamable HTTP, or HTTP+SSE where the server proves to have nothing newer.

The rule is that of 2025-03-26 to 2025-11-25, basic/transports, "Backwards Compatibility": where
``initialize`` is refused as if nothing were there, a GET whose first event is ``endpoint`` tells
a server of 2024-11-05. That very stream then carries the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay.core.commands import Command, Level, Notice
from relay.core.era import INITIALIZE, Context
from relay.core.events import Event
from relay.core.exchanges import Arrival, Exchange, Over
from relay.core.inflight import Call
from relay.core.legacy.channel import Channel, Lost
from relay.core.legacy.streamable import StreamableHttp
from relay.core.messages import Fields, RequestId

if TYPE_CHECKING:
    from relay.core.legacy.http_sse import HttpSse

ENDPOINT_SECONDS = 2.0
"""How long a server may take to name its endpoint before it is held to have none."""

_REFUSALS = frozenset({400, 404, 405, 406, 415})


class AutoChannel:
    """Whichever of the two the server has (:class:`relay.core.legacy.channel.Channel`)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._streamable = StreamableHttp(context)
        self._sse: HttpSse | None = None  # known to be right, or on trial
        self._refusal: Over | None = None  # while on trial: what gave rise to it

    @property
    def _channel(self) -> Channel:
        return self._sse or self._streamable

    def receive(self, event: Event) -> list[Arrival | Lost]:
        arrivals: list[Arrival | Lost] = []
        for arrival in self._streamable.receive(event):
            if isinstance(arrival, Over) and self._sse is None and _is_bare_refusal(arrival):
                arrivals += self._try(arrival)
            else:
                arrivals.append(arrival)
        if self._sse is not None:
            arrivals += self._of_sse(self._sse, self._sse.receive(event))
        return arrivals

    def _try(self, refusal: Over) -> list[Command]:
        from relay.core.legacy.http_sse import HttpSse  # few servers still need it

        self._refusal = refusal
        self._sse = HttpSse(self._context)
        return self._sse.take(refusal.exchange, ENDPOINT_SECONDS)

    def _of_sse(self, sse: HttpSse, arrivals: list[Arrival | Lost]) -> list[Arrival | Lost]:
        if sse.is_connecting:
            return arrivals
        if self._refusal is None:
            if sse.is_idle and any(_is_failed_handshake(each) for each in arrivals):
                self._sse = None  # it may have been replaced by a newer server: begin anew
            return arrivals
        refusal, self._refusal = self._refusal, None
        if sse.is_connected:
            found = "the server has HTTP+SSE of 2024-11-05 and no streamable HTTP"
            return [Notice(Level.INFO, found), *arrivals]
        self._sse = None
        # The refusal says more than that the trial failed.
        return [refusal if _is_over(each, refusal.exchange) else each for each in arrivals]

    # -- all else is for the one in use --

    @property
    def busy(self) -> bool:
        return self._streamable.busy or self._channel.busy

    def post(
        self,
        method: str,
        body: bytes,
        *,
        expects: RequestId | None = None,
        call: Call | None = None,
    ) -> tuple[Exchange, list[Command]]:
        return self._channel.post(method, body, expects=expects, call=call)

    def notify(self, method: str, body: bytes) -> list[Command]:
        return self._channel.notify(method, body)

    def open_exchanges(self) -> list[Exchange]:
        return self._channel.open_exchanges()

    def of(self, call: Call) -> Exchange | None:
        return self._channel.of(call)

    def is_open(self, exchange: Exchange) -> bool:
        return self._channel.is_open(exchange)

    def release(self, exchange: Exchange) -> list[Command]:
        return self._channel.release(exchange)

    def adopt(self, exchange: Exchange, result: Fields) -> None:
        self._channel.adopt(exchange, result)

    def begin(self) -> list[Command]:
        return self._channel.begin()

    def reset(self) -> list[Command]:
        return self._channel.reset()

    def close(self) -> list[Command]:
        return self._channel.close()


def _is_over(arrival: Arrival | Lost, exchange: Exchange) -> bool:
    return isinstance(arrival, Over) and arrival.exchange is exchange


def _is_failed_handshake(arrival: Arrival | Lost) -> bool:
    if not isinstance(arrival, Over):
        return False
    return arrival.problem is not None and arrival.exchange.method == INITIALIZE


def _is_bare_refusal(over: Over) -> bool:
    """Whether ``initialize`` was refused by something that does not speak JSON-RPC."""
    refused = over.problem is not None and over.failure is None
    return refused and over.exchange.method == INITIALIZE and over.exchange.status in _REFUSALS
