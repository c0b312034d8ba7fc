"""One request on its way through httpx: how far it has come, and how long it may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from enum import IntEnum
from typing import Any

import httpx

from relay.http.connection import tune
from relay.http.interface import Timeouts
from relay.http.target import Target

_SLICE = 1 << 18  # bytes of a request between two looks at the clock


class Stage(IntEnum):
    """What a request waits for; from ``WRITING`` on the server may have seen of it."""

    CONNECTING = 1
    ASKING_PROXY = 2
    SECURING = 3
    WRITING = 4
    WAITING = 5


class Sending(httpx.AsyncByteStream):
    """The body of a request, which learns from httpcore's trace what became of it."""

    def __init__(self, target: Target, body: bytes, timeouts: Timeouts) -> None:
        self.target = target
        self.stage = Stage.CONNECTING
        self._body = memoryview(body)
        self._timeouts = timeouts
        self._deadline: asyncio.Timeout | None = None
        self._stream: Any = None

    @property
    def begun(self) -> bool:
        """A byte of the request can have reached the server."""
        return self.stage >= Stage.WRITING

    def limit(self, deadline: asyncio.Timeout) -> None:
        """Take the deadline that is moved along."""
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._body), _SLICE):
            self._reach(Stage.WRITING)
            yield bytes(self._body[start : start + _SLICE])

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Be told of a step of httpcore (its ``trace`` extension)."""
        match event:
            case "connection.connect_tcp.complete":
                self._stream = info["return_value"]
                tune(self._stream.get_extra_info("socket"))
            case "connection.start_tls.started" | "proxy.start_tls.started":
                self.stage = Stage.SECURING
            case "http11.send_request_headers.started" if info["request"].method == b"CONNECT":
                self.stage = Stage.ASKING_PROXY
            case "http11.send_request_headers.started":
                self._reach(Stage.WRITING)
            case "http11.send_request_body.complete" if self.begun:
                self._reach(Stage.WAITING)

    async def close(self) -> None:
        """Close the connection that was made for this request.

        Cancelled within the handshake of TLS, httpcore 1.0 forgets its socket.
        """
        if self._stream is not None:
            await self._stream.aclose()

    def _reach(self, stage: Stage) -> None:
        self.stage = stage
        seconds, loop = self._timeouts.head, asyncio.get_running_loop()
        if self._deadline is not None:
            self._deadline.reschedule(None if seconds is None else loop.time() + seconds)
