"""What both ends of the relay have in common: the shape of a message, and how long to wait."""

from __future__ import annotations

LEGACY, MODERN = "2025-11-25", "2026-07-28"

PATIENCE = 20.0
"""Seconds for any wait; only a failing test comes near."""

Json = dict[str, object]

_META = "io.modelcontextprotocol/"


def envelope(**more: object) -> Json:
    """The ``_meta`` of a request of 2026-07-28."""
    return {
        _META + "protocolVersion": MODERN,
        _META + "clientInfo": {"name": "test", "version": "1"},
        _META + "clientCapabilities": {},
        **more,
    }
