"""A small MCP server of 2024-11-05, over HTTP+SSE: one stream for each session, POSTs beside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import urlsplit

from tests.relay.peer.server import HttpServer, Seen, head, send
from tests.relay.peer.wire import Json

VERSION = "2024-11-05"
QUESTION_ID = "question-1"
"""The id under which the tool ``ask`` asks the client."""


class SseServer(HttpServer):
    """Each tool is a method ``_tool_NAME``; all else of its URL is answered as old servers do."""

    def __init__(self, endpoint: str = "/messages") -> None:
        """``endpoint``: what POSTs are to be sent to, without the session."""
        super().__init__()
        self.endpoint = endpoint
        self.refusal = 405
        """The status for whatever is not of HTTP+SSE."""
        self.sessions = 0
        self.is_slow = asyncio.Event()
        """The tool ``slow`` runs."""
        self._streams: dict[str, asyncio.StreamWriter] = {}
        self._ended = asyncio.Event()
        self._released = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/sse"

    @property
    def targets(self) -> list[tuple[str, str]]:
        """Verb and target of each request so far."""
        return [(seen.verb, seen.target) for seen in self.seen]

    def release(self) -> None:
        """Let the slow tools answer."""
        self._released.set()

    def end_streams(self) -> None:
        """Forget all sessions, and end their streams in good order."""
        self._streams.clear()
        self._ended.set()
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        async with super().running() as running:
            yield running
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        self._streams.clear()

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(seen.target)
        if seen.verb == "GET" and parts.path == "/sse":
            await self._stream(writer)
        elif seen.verb == "POST" and parts.path == "/messages":
            await self._take(seen, parts.query, writer)
        else:
            await send(writer, self.refusal)

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        self.sessions += 1
        session = f"session={self.sessions}"
        self._streams[session] = writer
        writer.write(head(200, {"Content-Type": "text/event-stream", "Connection": "close"}))
        writer.write(f"event: endpoint\r\ndata: {self.endpoint}?{session}\r\n\r\n".encode())
        await writer.drain()
        await self._ended.wait()
        raise ConnectionError

    async def _take(self, seen: Seen, session: str, writer: asyncio.StreamWriter) -> None:
        stream = self._streams.get(session)
        if stream is None:
            await send(writer, 404, b"Could not find session", {"Content-Type": "text/plain"})
            return
        await send(writer, 202, b"Accepted", {"Content-Type": "text/plain"})
        if seen.is_request:
            task = asyncio.create_task(self._serve(seen, stream))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _serve(self, seen: Seen, stream: asyncio.StreamWriter) -> None:
        results: dict[str, Json] = {
            "initialize": {
                "protocolVersion": VERSION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "old peer", "version": "1"},
            },
            "ping": {},
            "tools/list": {"tools": [{"name": "echo"}, {"name": "slow"}]},
        }
        if seen.method == "tools/call":
            text = await getattr(self, f"_tool_{seen.params['name']}")(seen, stream)
            response = seen.response({"content": [{"type": "text", "text": text}]})
        elif seen.method in results:
            response = seen.response(results[seen.method])
        else:
            response = seen.error(-32601, f"no {seen.method} here")
        await _emit(stream, response)

    # -- the tools --

    async def _tool_big(self, seen: Seen, _: asyncio.StreamWriter) -> str:
        """Gives ``size`` characters."""
        arguments = seen.params["arguments"]
        assert isinstance(arguments, dict)
        return "x" * int(arguments["size"])

    async def _tool_slow(self, _: Seen, __: asyncio.StreamWriter) -> str:
        """Answers once :meth:`release` was called."""
        self.is_slow.set()
        await self._released.wait()
        return "late"

    async def _tool_ask(self, _: Seen, stream: asyncio.StreamWriter) -> str:
        """Asks the client for its roots, and gives them as its result."""
        await _emit(stream, {"jsonrpc": "2.0", "id": QUESTION_ID, "method": "roots/list"})
        said = await self.saw_answer(QUESTION_ID)
        return json.dumps(said.message["result"])


async def _emit(stream: asyncio.StreamWriter, message: Json) -> None:
    stream.write(b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n")
    await stream.drain()
