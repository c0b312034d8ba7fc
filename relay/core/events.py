"""What the core is told: each fact about the outside world, as one frozen value.

The shell builds these and hands them to :meth:`relay.core.session.Session.receive`. They are
plain data, so a trace of them replays as a test.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

ExchangeId = NewType("ExchangeId", int)
"""Names one HTTP exchange (request and its response); chosen by the core, never reused."""

TimerId = NewType("TimerId", str)
"""Names one running timer; setting it again restarts it."""


class Failure(StrEnum):
    """Why an exchange ended without a complete response."""

    CONNECT = "connect"  # no connection: DNS, refused, unreachable, connect timeout
    TLS = "tls"  # handshake or certificate refused
    HEADERS_TIMEOUT = "headers_timeout"  # request sent, no response head within the deadline
    IDLE_TIMEOUT = "idle_timeout"  # response begun, then silence past the deadline
    CLOSED = "closed"  # the peer closed or reset the connection mid-exchange
    TOO_LARGE = "too_large"  # one message above the size cap
    PROTOCOL = "protocol"  # not HTTP, bad chunking, undecodable content coding


class Started(msgspec.Struct, frozen=True, tag=True):
    """The shell runs; the first event, always."""


class ClientLine(msgspec.Struct, frozen=True, tag=True):
    """One line from the client's stdin, without its LF; not yet parsed, maybe not JSON."""

    line: bytes


class ClientLineTooLong(msgspec.Struct, frozen=True, tag=True):
    """A line above the size limit was read to its end and discarded."""

    size: int
    limit: int


class ClientClosed(msgspec.Struct, frozen=True, tag=True):
    """The client closed stdin: answer what is open, then stop."""


class ServerAnswered(msgspec.Struct, frozen=True, tag=True):
    """The head of a response arrived. Header names are lower case; repeated ones are joined."""

    exchange: ExchangeId
    status: int
    headers: dict[str, str]


class ServerSent(msgspec.Struct, frozen=True, tag=True):
    """One complete message of a response: a whole JSON body, or one server-sent event's data.

    For a body that is neither, ``data`` holds its first bytes as evidence for the error text.
    ``retry`` is in milliseconds.
    """

    exchange: ExchangeId
    data: bytes
    event: str = "message"
    event_id: str | None = None
    retry: int | None = None


class ServerEnded(msgspec.Struct, frozen=True, tag=True):
    """The response of this exchange is complete; nothing more comes."""

    exchange: ExchangeId


class ServerFailed(msgspec.Struct, frozen=True, tag=True):
    """The exchange ended without a complete response.

    ``may_have_executed`` is false only when no byte of the request can have reached the server.
    """

    exchange: ExchangeId
    failure: Failure
    detail: str
    may_have_executed: bool


class TimerFired(msgspec.Struct, frozen=True, tag=True):
    """A timer set by :class:`~relay.core.commands.SetTimer` ran out."""

    timer: TimerId


class Terminated(msgspec.Struct, frozen=True, tag=True):
    """The process was asked to end (SIGTERM, SIGINT, closed stdout): answer and stop at once."""

    reason: str


Event = (
    Started
    | ClientLine
    | ClientLineTooLong
    | ClientClosed
    | ServerAnswered
    | ServerSent
    | ServerEnded
    | ServerFailed
    | TimerFired
    | Terminated
)
