"""Cancelling at a legacy server: a message to it, as a lost connection means nothing there."""

from __future__ import annotations

import msgspec

from relay.core.commands import ClearTimer, Command, SetTimer
from relay.core.era import CANCELLED, INITIALIZE
from relay.core.events import TimerId
from relay.core.exchange import Exchange
from relay.core.inflight import Call
from relay.core.legacy.channel import Channel
from relay.core.messages import Message, fields_of, notification

CANCEL_SECONDS = 0.05
"""The head start of a request before its cancellation, which takes a connection of its own."""


class Cancellations:
    """Cancellations on their way to the server."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._waiting: dict[TimerId, tuple[Exchange, bytes]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, timer: TimerId) -> bool:
        return timer in self._waiting

    def send(self, call: Call, exchange: Exchange, message: Message) -> list[Command]:
        """Tell the server what the client has said of a call that an exchange carries."""
        body = message.raw
        if call.wire_id != call.request_id:
            named = {**(fields_of(message.params) or {}), "requestId": msgspec.Raw(call.wire_id)}
            body = notification(CANCELLED, named)
        if exchange.status:
            return self._channel.post(CANCELLED, body)[1]
        timer = TimerId(f"cancel:{exchange.id}")
        self._waiting[timer] = (exchange, body)
        return [SetTimer(timer, CANCEL_SECONDS)]

    def due(self, timer: TimerId) -> list[Command]:
        """The head start is over; what has ended by itself needs no cancellation."""
        exchange, body = self._waiting.pop(timer)
        if not self._channel.is_open(exchange):
            return []
        return self._channel.post(CANCELLED, body)[1]

    def send_all(self) -> list[Command]:
        """There is no time left to give anything a head start."""
        commands: list[Command] = []
        for timer in tuple(self._waiting):
            commands += [ClearTimer(timer), *self.due(timer)]
        return commands

    def give_up(self, call: Call) -> list[Command]:
        """Cancel a call for which nobody waits any more; ``initialize`` never is."""
        if call.method == INITIALIZE:
            return []
        named = {"requestId": msgspec.Raw(call.wire_id)}
        return self._channel.post(CANCELLED, notification(CANCELLED, named))[1]

    def drop(self) -> list[Command]:
        """The session in which they mean something is lost."""
        timers = tuple(self._waiting)
        self._waiting.clear()
        return [ClearTimer(timer) for timer in timers]
