"""The relay's errors: what is raised inside the core, and what a client is told.

``RelayError``
├── ``Malformed``      bytes that are no JSON-RPC message
└── ``EventTooLarge``  a server-sent event above the size cap
"""

from __future__ import annotations

from enum import IntEnum

import msgspec


class Code(IntEnum):
    """JSON-RPC error codes. The relay's own errors use the standard ones alone.

    -32020..-32099 belong to the MCP specification (2026-07-28, basic, "Error codes"): the three
    here are read from servers. -32021 and -32022 are also given to a 2026-07-28 client of a legacy
    server, towards which the relay is the server.
    """

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    HEADER_MISMATCH = -32020
    MISSING_CAPABILITY = -32021
    UNSUPPORTED_VERSION = -32022


class Problem(msgspec.Struct, frozen=True):
    """A JSON-RPC error to be: ``data`` is machine-readable and holds a ``hint`` where one helps."""

    code: int
    message: str
    data: dict[str, object] | None = None


class RelayError(Exception):
    """Base of all errors of the core."""


class Malformed(RelayError):
    """Bytes that are not a JSON-RPC 2.0 message; ``request_id`` is its id where one was legible."""

    def __init__(self, code: Code, message: str, request_id: bytes | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(int(code), message)
        self.request_id = request_id


class EventTooLarge(RelayError):
    """One server-sent event exceeds the size cap; sizes are bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"a server-sent event of at least {size} bytes exceeds the limit of {limit}"
        )
        self.size = size
        self.limit = limit
