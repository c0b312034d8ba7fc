"""How a server's answer to one request goes out: in the response to its POST, or on a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Protocol

from tests.relay.peer.server import head, send
from tests.relay.peer.wire import Json


class Reply(Protocol):
    async def emit(self, message: Json) -> None:
        """Send a message of the server ahead of the answer."""

    async def answer(
        self, message: Json, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send the response, the last message for this request."""


class InTheResponse:
    """A JSON body, or an event stream if anything comes ahead of the answer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._streaming = False

    async def emit(self, message: Json) -> None:
        if not self._streaming:
            self._streaming = True
            fields = {"Content-Type": "text/event-stream", "Connection": "close"}
            self._writer.write(head(200, fields))
        self._writer.write(event(message))
        await self._writer.drain()

    async def answer(
        self, message: Json, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        if not self._streaming:
            await send(self._writer, status, encoded(message), headers)
            return
        await self.emit(message)
        raise ConnectionError  # the stream ends with its connection


class OnTheStream:
    """Events on the one stream of a session (2024-11-05, basic/transports)."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    async def emit(self, message: Json) -> None:
        self._stream.write(event(message))
        await self._stream.drain()

    async def answer(
        self, message: Json, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        await self.emit(message)


def event(message: Json) -> bytes:
    return b"event: message\ndata: " + encoded(message) + b"\n\n"


def encoded(message: Json) -> bytes:
    """Plain UTF-8 where that is possible, because it is what most servers send."""
    try:
        return json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(message).encode()
