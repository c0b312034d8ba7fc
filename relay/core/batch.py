"""A JSON-RPC batch of the client: its answers go back together (2025-03-26, basic, "Batching")."""

from __future__ import annotations

from relay.core.commands import Command, Emit


class Batch:
    """Collects the answers of one array until none is missing."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self._lines: list[bytes] = []

    def take(self, line: bytes) -> list[Command]:
        """Add an answer; the whole array once it is complete."""
        self._lines.append(line)
        return self.without()

    def without(self) -> list[Command]:
        """Wait for one answer less; the whole array once it is complete."""
        self._missing -= 1
        if self._missing or not self._lines:
            return []
        return [Emit(b"[" + b",".join(self._lines) + b"]")]
