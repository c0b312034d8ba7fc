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


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the core. Times are seconds, sizes bytes.

    ``probe_timeout`` stays below the 10 s after which clients give up their own era probe.
    ``max_line`` also bounds what waits for the era to be known. ``server_name`` stands in for the
    name of a server that does not tell it. The client names are the relay's own, used where a
    request is not made for a client that has introduced itself.
    """

    protocol_era: ProtocolEra = ProtocolEra.AUTO
    probe_timeout: float = 8.0
    drain_timeout: float = 5.0
    max_line: int = 100 * MEBIBYTE
    server_name: str = "server"
    client_name: str = "canferry-relay"
    client_version: str = "0"
