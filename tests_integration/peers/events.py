"""The event store of a server, in the words that all releases of the SDK share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types import JSONRPCMessage

RETRY_MILLISECONDS = 500
"""When a client comes back whose stream was closed.

What the SDK sends between the replay and the new stream is lost for good, so the rest of a call
has to be over by then, on a busy machine too.
"""


class Events(EventStore):
    """Keeps all events in memory; an event's id is its place among them.

    The SDK names streams alike in every session, so one store is for one session at a time.
    """

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[EventMessage], Awaitable[None]]
    ) -> str | None:
        place = int(last_event_id)
        stream_id, _ = self._events[place - 1]
        for number, (stream, message) in enumerate(self._events[place:], place + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id
