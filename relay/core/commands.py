"""What the core asks for: each wish about the outside world, as one frozen value.

:meth:`relay.core.session.Session.receive` returns a list of these and the shell carries them out
in order. Headers here are the protocol's own; credentials and the user's ``-H`` headers are added
by the HTTP client below the shell, so that no secret ever passes through the core or a trace.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from relay.core.events import ExchangeId, TimerId


class Verb(StrEnum):
    POST = "POST"
    GET = "GET"
    DELETE = "DELETE"


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Request(msgspec.Struct, frozen=True, tag=True):
    """Start an HTTP exchange with the server; its progress comes back as ``Server*`` events.

    ``target`` is a URI reference that the server named, to be resolved against the URL and to be
    refused if it leads to another origin; empty for the URL itself. A ``standing`` response may be
    silent for as long as it likes.
    """

    exchange: ExchangeId
    verb: Verb
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    target: str = ""
    standing: bool = False


class Abort(msgspec.Struct, frozen=True, tag=True):
    """Close an exchange's connection at once, also before its headers; no event follows for it."""

    exchange: ExchangeId


class Emit(msgspec.Struct, frozen=True, tag=True):
    """Write one JSON-RPC message to the client as one line (``line`` has no LF)."""

    line: bytes


class SetTimer(msgspec.Struct, frozen=True, tag=True):
    """Start (or restart) a timer of ``seconds``."""

    timer: TimerId
    seconds: float


class ClearTimer(msgspec.Struct, frozen=True, tag=True):
    """Stop a timer; unknown names are fine."""

    timer: TimerId


class Notice(msgspec.Struct, frozen=True, tag=True):
    """Tell the operator something on the log (stderr), never the client."""

    level: Level
    text: str


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End the process with ``code`` once everything emitted before this is written."""

    code: int


Command = Request | Abort | Emit | SetTimer | ClearTimer | Notice | Stop
