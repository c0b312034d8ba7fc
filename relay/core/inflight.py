"""The client's open requests: each is answered exactly once, or never once it is cancelled.

Every answer to the client is made by :meth:`Inflight.answer` or :meth:`Inflight.fail`, which give
nothing for a call that is no longer open; that is how the promise is kept in one place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from relay.core import messages
from relay.core.commands import Command, Emit
from relay.core.errors import Problem
from relay.core.messages import Message, RequestId


class Call:
    """One request of the client, from the line that carried it to its answer.

    Compared by identity: a client may use an id again once its first request is over.
    """

    __slots__ = ("message", "request_id", "sent")

    def __init__(self, message: Message, request_id: RequestId) -> None:
        self.message = message
        self.request_id = request_id
        self.sent = False  # on its way to the server

    @property
    def method(self) -> str:
        return self.message.method


class Inflight:
    """The calls that are open, by the client's id."""

    def __init__(self) -> None:
        self._calls: dict[RequestId, Call] = {}

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._calls.values()))

    def admit(self, message: Message, request_id: RequestId) -> Call | None:
        """Open a call, or None if one with this id is open already."""
        if request_id in self._calls:
            return None
        call = self._calls[request_id] = Call(message, request_id)
        return call

    def find(self, request_id: RequestId) -> Call | None:
        return self._calls.get(request_id)

    def cancel(self, call: Call) -> bool:
        """Close a call without an answer; false if it was closed before."""
        if self._calls.get(call.request_id) is not call:
            return False
        del self._calls[call.request_id]
        return True

    def answer(self, call: Call, line: bytes) -> list[Command]:
        """Close a call with ``line``, its response."""
        return [Emit(line)] if self.cancel(call) else []

    def respond(self, call: Call, response: Message) -> list[Command]:
        """Close a call with the server's response, put under the client's id if need be."""
        if response.request_id == call.request_id or response.error is None:
            return self.answer(call, response.raw)
        return self.fail(call, response.error)

    def fail(self, call: Call, error: Problem | msgspec.Raw) -> list[Command]:
        """Close a call with an error."""
        return self.answer(call, messages.failure(call.request_id, error))


class FromClient(msgspec.Struct, frozen=True):
    """A message of the client for an era; ``call`` is set when it is a request."""

    message: Message
    call: Call | None = None


class Lobby:
    """Messages of the client that have to wait, in order; bounded in number and in bytes."""

    MAX_MESSAGES = 256

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._waiting: deque[FromClient] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def admit(self, arrival: FromClient) -> bool:
        """Add at the end; false (and not added) if the lobby is full."""
        size = len(arrival.message.raw)
        full = len(self._waiting) >= self.MAX_MESSAGES or self._bytes + size > self._max_bytes
        if full and self._waiting:
            return False
        self._waiting.append(arrival)
        self._bytes += size
        return True

    def next(self) -> FromClient:
        arrival = self._waiting.popleft()
        self._bytes -= len(arrival.message.raw)
        return arrival

    def remove(self, call: Call) -> bool:
        """Take a cancelled call out; false if it does not wait here."""
        for arrival in self._waiting:
            if arrival.call is call:
                self._waiting.remove(arrival)
                self._bytes -= len(arrival.message.raw)
                return True
        return False

    def calls(self) -> list[Call]:
        return [arrival.call for arrival in self._waiting if arrival.call is not None]

    def drain(self) -> list[FromClient]:
        """Everything that waits, which then waits no longer."""
        arrivals = list(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return arrivals
