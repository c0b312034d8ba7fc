"""One MCP client on stdin and stdout: every line answered, also those in flight at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from service.threads import WorkerThreads

DRAIN_SECONDS = 5.0
"""How long calls in flight may still be answered after the client closed stdin."""

_CHUNK_BYTES = 64 * 1024


async def serve_stdio(server: Server[dict[str, Any]]) -> None:
    """Serve one client until it closes stdin; can be cancelled at any moment.

    Unlike the SDK's transport alone, lines that are no messages are answered, and calls in flight
    at the end of the input still get their answers.
    """
    # The SDK reads lines in a thread that cannot be abandoned, which would hold up SIGTERM.
    stdin: Any = _stdin_lines(sys.stdin.fileno())
    async with stdio_server(stdin=stdin) as (incoming, outgoing):
        pending = _Pending()
        await server.run(
            _Requests(incoming, outgoing, pending),
            _Responses(outgoing, pending),
            server.create_initialization_options(),
        )


async def _stdin_lines(descriptor: int) -> AsyncIterator[str]:
    """Lines as text, without a byte order mark; what is not UTF-8 is replaced.

    Reads the descriptor itself: a thread left behind in a buffered reader ends the interpreter's
    shutdown in a fatal error.
    """
    threads = WorkerThreads(1)
    parts: list[bytes] = []
    while chunk := await threads.run(lambda: os.read(descriptor, _CHUNK_BYTES)):
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield _text(b"".join([*parts, line]))
            parts.clear()
        parts.append(rest)
    if any(parts):
        yield _text(b"".join(parts))


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig", "replace")


class _Pending:
    """The ids of requests without an answer."""

    def __init__(self) -> None:
        self._ids: set[types.RequestId] = set()
        self._none_left = anyio.Event()

    def add(self, request_id: types.RequestId) -> None:
        self._ids.add(request_id)

    def discard(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._ids.discard(request_id)
        if not self._ids:
            self._none_left.set()

    async def wait_until_none(self) -> None:
        self._none_left = anyio.Event()
        if self._ids:
            with anyio.move_on_after(DRAIN_SECONDS):
                await self._none_left.wait()


class _Requests:
    """The incoming stream: notes requests, answers rubbish, and ends when all is answered."""

    def __init__(self, incoming: Any, outgoing: Any, pending: _Pending) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._pending = pending

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                item = await self._incoming.receive()
            except anyio.EndOfStream:
                await self._pending.wait_until_none()
                raise
            if isinstance(item, SessionMessage):
                self._note(item.message)
                return item
            if error := _refusal(item):
                await self._outgoing.send(SessionMessage(error))

    def _note(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._pending.add(message.id)
        elif (
            isinstance(message, types.JSONRPCNotification)
            and message.method == "notifications/cancelled"
        ):
            self._pending.discard((message.params or {}).get("requestId"))

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Responses:
    """The outgoing stream: notes which requests have their answer."""

    def __init__(self, outgoing: Any, pending: _Pending) -> None:
        self._outgoing = outgoing
        self._pending = pending

    async def send(self, item: SessionMessage, /) -> None:
        await self._outgoing.send(item)
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._pending.discard(item.message.id)

    async def aclose(self) -> None:
        await self._outgoing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _refusal(error: Exception) -> types.JSONRPCError | None:
    """The answer to a line that is no message (JSON-RPC 2.0, 5.1); None for a blank line."""
    code, text = types.INVALID_REQUEST, "The line is not a JSON-RPC message"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            if not str(first["input"]).strip():
                return None
            code, text = types.PARSE_ERROR, "The line is not JSON"
    return types.JSONRPCError(
        jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=text)
    )
