"""Lines of bytes, cut out of a stream and put into one; each ends in LF on every system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relay.core.events import ClientClosed, ClientLine, ClientLineTooLong, Terminated

READ_SIZE = 64 * 1024
"""Bytes of one read of stdin at most."""

READ_AHEAD = 2
"""Batches of lines, of one read each, that may be handed over and not yet taken."""

_JOIN_SIZE = 64 * 1024

Piece = bytes | bytearray | memoryview

ClientEvent = ClientLine | ClientLineTooLong | ClientClosed | Terminated


class LineSplitter:
    """Cuts a byte stream into lines, in time linear in its length whatever the reads are."""

    def __init__(self, limit: int) -> None:
        """``limit``: the longest line kept, in bytes; 0 for no limit."""
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[ClientLine | ClientLineTooLong]:
        """Yield the lines that ``data`` completes."""
        begin = 0
        while (end := data.find(b"\n", begin)) >= 0:
            self._keep(data[begin:end])
            yield self._take()
            begin = end + 1
        self._keep(data[begin:])

    def finish(self) -> Iterator[ClientLine | ClientLineTooLong]:
        """Yield the last line if the stream ended without its LF."""
        if self._size:
            yield self._take()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._fits():
            self._parts.append(part)
        else:
            self._parts.clear()

    def _take(self) -> ClientLine | ClientLineTooLong:
        parts, size = self._parts, self._size
        fits = self._fits()
        self._parts, self._size = [], 0
        if fits:
            return ClientLine(b"".join(parts))
        return ClientLineTooLong(size, self._limit)

    def _fits(self) -> bool:
        return not self._limit or self._size <= self._limit


def joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the same bytes in fewer pieces: small ones together, big ones uncopied."""
    small = bytearray()
    for piece in pieces:
        if len(piece) < _JOIN_SIZE:
            small += piece
        else:
            if small:
                yield small
                small = bytearray()
            yield piece
        if len(small) >= _JOIN_SIZE:
            yield small
            small = bytearray()
    if small:
        yield small
