"""Content codings of responses (RFC 9110, 8.4.1), undone piece by piece."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from relay.core.events import Failure
from relay.http.errors import HttpError

MAX_PIECE = 1 << 16
"""Bytes of one decoded piece at most: deflate expands up to a thousandfold."""

_GZIP = zlib.MAX_WBITS | 16
_ZLIB = zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS


async def decoded(read: Callable[[], Awaitable[bytes]], coding: str) -> AsyncIterator[bytes]:
    """Yield a body without its coding as it arrives, in pieces that are never empty.

    :param read: returns what has come of the body, or waits for some; nothing means its end.
    :raises HttpError: if ``read`` does, or the body is not what its coding allows.
    """
    decoder: ContentDecoder | None = None
    while data := await read():
        decoder = decoder or ContentDecoder(coding)
        for piece in decoder.feed(data):
            yield piece
            await asyncio.sleep(0)  # one chunk may hold a thousand pieces: let others run
    if decoder is not None:
        decoder.end()


class ContentDecoder:
    """Decodes one gzip or deflate body; whatever a chunk holds comes out with that chunk."""

    def __init__(self, coding: str) -> None:
        """:raises HttpError: for a coding that we did not ask for and cannot decode."""
        self._coding = coding.strip().lower().removeprefix("x-")  # RFC 9110, 8.4.1.3
        if self._coding not in ("gzip", "deflate"):
            raise _undecodable(f"the server used content coding {coding!r}, which was not offered")
        self._begun = b""
        self._inflate = zlib.decompressobj(_GZIP) if self._coding == "gzip" else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what ``data`` decodes to, in pieces of up to :data:`MAX_PIECE` bytes.

        :raises HttpError: if it is not what the coding allows.
        """
        inflate = self._inflate
        if inflate is None:
            data = self._begun + data
            self._begun = data[:1]
            if len(data) < 2:
                return
            inflate = self._inflate = zlib.decompressobj(_deflate_wbits(data))
        self._begun = self._begun or data[:1]
        while True:
            try:
                piece = inflate.decompress(data, MAX_PIECE)
            except zlib.error as error:
                raise _undecodable(f"the {self._coding} content is damaged ({error})") from error
            if piece:
                yield piece
            if inflate.eof:
                data = inflate.unused_data
                if not data:
                    return
                inflate = self._inflate = self._next_member()
            else:
                data = inflate.unconsumed_tail
                # A full piece may have left output behind although all input is consumed.
                if not data and len(piece) < MAX_PIECE:
                    return

    def end(self) -> None:
        """Say that the body has ended. :raises HttpError: if the content has not."""
        if self._begun and (self._inflate is None or not self._inflate.eof):
            raise _undecodable(f"the {self._coding} content is cut off")

    def _next_member(self) -> zlib._Decompress:
        if self._coding != "gzip":  # only gzip has members (RFC 1952, 2.2)
            raise _undecodable("there is data behind the deflate content")
        return zlib.decompressobj(_GZIP)


def _deflate_wbits(begun: bytes) -> int:
    """Some servers send deflate without the zlib wrapper that RFC 9110, 8.4.1.2 asks for."""
    cmf, flg = begun[:2]
    wrapped = cmf & 0x0F == 8 and (cmf << 8 | flg) % 31 == 0  # RFC 1950, 2.2
    return _ZLIB if wrapped else _RAW


def _undecodable(detail: str) -> HttpError:
    return HttpError(Failure.PROTOCOL, detail, may_have_executed=True)
