"""Who makes a call: the answer to "who did this?" in logs, leases and the audit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """``principal`` is authenticated and may be relied on; ``client`` is what a program says."""

    principal: str
    client: str = ""


LOCAL = Caller("local")
"""A process on this machine: loopback without tokens, stdio, or the command line."""
