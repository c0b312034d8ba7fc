"""Connections at rest between two exchanges."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from relay.http.connection import Connection

IDLE_EXPIRY = 4.0
"""Seconds that a connection rests before it is closed; uvicorn and Node.js close after 5."""

MAX_IDLE = 64
"""Connections kept at rest; of more, the ones that rested longest are closed."""


class Pool:
    """Keeps connections for ``idle_expiry`` seconds; the last one in is the first one out.

    Last in first out keeps few connections warm and lets the rest expire.
    """

    def __init__(self, idle_expiry: float) -> None:
        self._idle_expiry = idle_expiry
        self._idle: deque[tuple[float, Connection]] = deque()  # by expiry, soonest first
        self._timer: asyncio.TimerHandle | None = None

    def take(self, origin: tuple[str, str, int]) -> Connection | None:
        """Remove and return a usable connection; those that are closed are discarded on the way."""
        while connection := self._pop(lambda idle: idle.origin == origin):
            if connection.usable:
                return connection
            connection.abort()
        return None

    def put(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        self._idle.append((loop.time() + self._idle_expiry, connection))
        if len(self._idle) > MAX_IDLE:
            self._idle.popleft()[1].abort()
        if self._timer is None:
            self._timer = loop.call_later(self._idle_expiry, self._expire)

    def discard(self, connection: Connection) -> None:
        """Forget a connection that is lost; others are fine too."""
        self._pop(lambda idle: idle is connection)

    def close(self) -> None:
        """Stop the timer; the connections are closed by their owner."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._idle.clear()

    def _pop(self, matches: Callable[[Connection], bool]) -> Connection | None:
        for position in range(len(self._idle) - 1, -1, -1):
            connection = self._idle[position][1]
            if matches(connection):
                del self._idle[position]
                return connection
        return None

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._idle and self._idle[0][0] <= loop.time():
            self._idle.popleft()[1].abort()
        if self._idle:
            self._timer = loop.call_at(self._idle[0][0], self._expire)
