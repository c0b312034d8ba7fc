"""The client's open requests: each is answered exactly once, or never once it is cancelled.

Every answer to the client is made here, and each way to give one yields nothing for a call that
is no longer open; that is how the promise is kept in one place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import count

import msgspec

from relay.core import messages
from relay.core.batch import Batch
from relay.core.commands import Command, Emit
from relay.core.errors import Problem
from relay.core.messages import Fields, Message, RequestId, fields_of
from relay.core.pages import Pages, has_more

MAX_REPEATS = 3
"""How often a call is begun anew at most because of what the server said of its first time."""


class Call:
    """One request of the client, from the line that carried it to its answer.

    ``request_id`` is the client's, and the answer bears it. ``message`` is what goes to the
    server, under ``wire_id``: another id where the call takes several requests. Compared by
    identity: a client may use an id again once its first request is over.
    """

    __slots__ = ("age", "batch", "message", "pages", "repeats", "request_id", "sent")

    def __init__(self, message: Message, request_id: RequestId) -> None:
        self.message = message
        self.request_id = request_id
        self.sent = False  # on its way to the server
        self.repeats = 0
        self.age = 0
        self.batch: Batch | None = None
        self.pages: Pages | None = None

    @property
    def method(self) -> str:
        return self.message.method

    @property
    def wire_id(self) -> RequestId:
        return self.message.request_id or self.request_id


class FromClient(msgspec.Struct, frozen=True):
    """A message of the client for an era; ``call`` is set when it is a request."""

    message: Message
    call: Call | None = None


class Inflight:
    """The calls that are open, by the client's id."""

    def __init__(self) -> None:
        self._calls: dict[RequestId, Call] = {}
        self._numbers = count(1)
        self._again: deque[FromClient] = deque()

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    def admit(self, message: Message, request_id: RequestId) -> Call | None:
        """Open a call, or None if one with this id is open already."""
        if request_id in self._calls:
            return None
        call = self._calls[request_id] = Call(message, request_id)
        return call

    def find(self, request_id: RequestId) -> Call | None:
        return self._calls.get(request_id)

    def is_open(self, call: Call) -> bool:
        return self._calls.get(call.request_id) is call

    # -- the ways a call ends --

    def abandon(self, call: Call) -> list[Command]:
        """Close a call without an answer."""
        if not self._close(call) or call.batch is None:
            return []
        return call.batch.without()

    def respond(self, call: Call, response: Message) -> list[Command]:
        """Close a call with the server's response, put under the client's id if need be."""
        if response.error is not None:
            if response.request_id == call.request_id and call.pages is None:
                return self._answer(call, response.raw)
            return self.fail(call, response.error)
        if call.pages is not None:
            result = fields_of(response.result) or {}
            if call.pages.begun or has_more(result):
                return self.succeed(call, result)
        if response.request_id == call.request_id:
            return self._answer(call, response.raw)
        return self._answer(call, messages.result(call.request_id, response.result))

    def succeed(self, call: Call, result: Fields) -> list[Command]:
        """Close a call with a result, or fetch the next page of it."""
        if call.pages is not None and self.is_open(call):
            cursor = call.pages.add(result)
            if cursor is not None:
                self.repeat(call, call.pages.request(call.message, self.new_id(), cursor))
                return []
            result = call.pages.merged()
        return self._answer(call, messages.result(call.request_id, result))

    def fail(self, call: Call, error: Problem | msgspec.Raw) -> list[Command]:
        """Close a call with an error, or with the pages that came before it."""
        if call.pages is not None and call.pages.begun:
            return self._answer(call, messages.result(call.request_id, call.pages.merged()))
        return self._answer(call, messages.failure(call.request_id, error))

    def end(self, call: Call, line: bytes) -> list[Command]:
        """Close a call with something other than a response."""
        return self._answer(call, line)

    def _answer(self, call: Call, line: bytes) -> list[Command]:
        if not self._close(call):
            return []
        return [Emit(line)] if call.batch is None else call.batch.take(line)

    def _close(self, call: Call) -> bool:
        if not self.is_open(call):
            return False
        del self._calls[call.request_id]
        return True

    # -- the ways it goes on --

    def new_id(self) -> RequestId:
        """An id for one more request on a call's behalf, unlike any that a client would use."""
        return RequestId(b'"canferry-%d"' % next(self._numbers))

    def repeat(self, call: Call, message: Message | None = None) -> None:
        """Have a call take its way to the server once more, as ``message`` if it is given."""
        if self.is_open(call):
            call.message = message or call.message
            self._again.append(FromClient(call.message, call))

    def may_repeat(self, call: Call) -> bool:
        """Count one more try; false when there have been enough of them."""
        call.repeats += 1
        return call.repeats <= MAX_REPEATS

    def to_repeat(self) -> FromClient | None:
        """The next call to be sent once more."""
        return self._again.popleft() if self._again else None

    def overdue(self, age: int) -> list[Call]:
        """Let all calls grow older by one; return those that have reached ``age``."""
        for call in self._calls.values():
            call.age += 1
        return [call for call in self if call.age >= age]


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
