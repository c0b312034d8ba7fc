"""The tools, theme by theme; importing them here is what registers them, in this order."""

from __future__ import annotations

from service.tools import live, recent, transmit, captures, databases, inspection, system  # isort: skip
from service.tools.registry import registry

__all__ = [
    "captures",
    "databases",
    "inspection",
    "live",
    "recent",
    "registry",
    "system",
    "transmit",
]
