"""What the core is told at its start, and never again."""

from __future__ import annotations

from enum import StrEnum

import msgspec

MEBIBYTE = 1024 * 1024


class ProtocolEra(StrEnum):
    """How the server is to be spoken to: as it proves to want it, or as the operator says."""

    AUTO = "auto"
    LEGACY = "legacy"
    MODERN = "modern"


class Transport(StrEnum):
    """What carries a legacy session: ``sse`` is HTTP+SSE of 2024-11-05, with two endpoints."""

    AUTO = "auto"
    STREAMABLE_HTTP = "streamable-http"
    SSE = "sse"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the core. Times are seconds, sizes bytes.

    ``total_timeout`` is how long one request of the client may take, whatever the server does
    meanwhile (0: no limit). ``merge_pages`` answers a list request that names no cursor with all
    of its pages in one.

    ``probe_timeout`` stays below the 10 s after which clients give up their own era probe.
    ``max_line`` also bounds what waits for the era to be known. ``server_name`` stands in for the
    name of a server that does not tell it. The client names are the relay's own, used where a
    request is not made for a client that has introduced itself.

    ``secret`` makes the handles that a client is given unguessable; new for each process.
    """

    protocol_era: ProtocolEra = ProtocolEra.AUTO
    transport: Transport = Transport.AUTO
    probe_timeout: float = 8.0
    drain_timeout: float = 5.0
    total_timeout: float = 0.0
    merge_pages: bool = False
    max_line: int = 100 * MEBIBYTE
    server_name: str = "server"
    client_name: str = "canferry-relay"
    client_version: str = "0"
    secret: str = ""
