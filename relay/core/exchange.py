"""One HTTP exchange, and what can come of it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from relay.core.commands import Command, Request
from relay.core.errors import Problem
from relay.core.events import ExchangeId, Failure
from relay.core.inflight import Call
from relay.core.messages import Message, RequestId
from relay.core.sse import is_event_stream


class Exchange(msgspec.Struct, eq=False):
    """One exchange and what is known of its response.

    ``expects`` is the id of the response it must bring, None for a notification, a response, a
    DELETE or a standing GET. ``call`` is the client's request behind it, None for the relay's own.
    ``id`` names the HTTP request that is open for it, or was the last one.
    """

    id: ExchangeId
    method: str
    request: Request
    expects: RequestId | None = None
    call: Call | None = None
    resumable: bool = False  # a stream that breaks off may be taken up again by its last event id
    persistent: bool = True  # worth sending again
    status: int = 0
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    is_stream: bool = False
    evidence: bytes = b""
    settled: bool = False  # its response came, or it is no longer wanted
    bygone: bool = False  # it belongs to a session that is lost
    last_event_id: str | None = None
    retry: int | None = None  # milliseconds that the server wants to pass before a resumption
    loss: Over | None = None  # how its stream broke off, while that is being resumed
    tries: int = 0  # in a row, for the same reason
    sweeps: int = 0

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of its response has come."""
        self.status, self.headers = status, headers
        self.is_stream = is_event_stream(headers.get("content-type", ""))

    @property
    def standing(self) -> bool:
        """A GET that stays open and brings whatever the server has to say."""
        return self.request.standing

    @property
    def session(self) -> str | None:
        """The id of the legacy session that it was begun in."""
        return dict(self.request.headers).get("Mcp-Session-Id")

    @property
    def in_session(self) -> bool:
        return self.session is not None


class Answered(msgspec.Struct, frozen=True):
    """The response that an exchange was made for; its id may be null for an error."""

    exchange: Exchange
    message: Message


class Accepted(msgspec.Struct, frozen=True):
    """The server has taken an exchange that brings no response: nothing waits for its end.

    For a standing GET: its stream is open.
    """

    exchange: Exchange


class Received(msgspec.Struct, frozen=True):
    """A request or a notification of the server on the way to the response."""

    exchange: Exchange
    message: Message


class Over(msgspec.Struct, frozen=True):
    """An exchange is over; ``problem`` is set if it did not do what it was made for."""

    exchange: Exchange
    problem: Problem | None = None
    failure: Failure | None = None  # set if it broke off


Arrival = Accepted | Answered | Received | Over | Command
