"""A small MCP server of either era and transport, whose tools do what a test needs to see."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.relay.peer.reply import InTheResponse, OnTheStream, Reply
from tests.relay.peer.server import HttpServer, Seen, head, send
from tests.relay.peer.wire import LEGACY, MODERN, Json

_STALL_SECONDS = 0.5

_INFO = {"name": "peer", "version": "7"}
_LISTS = {"ttlMs": 0, "cacheScope": "private"}
_TOOLS: Json = {"tools": [{"name": "echo"}, {"name": "slow"}]}
_RESULTS: dict[str, dict[str, Json]] = {
    LEGACY: {
        "initialize": {
            "protocolVersion": LEGACY,
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": _INFO,
        },
        "ping": {},
        "tools/list": _TOOLS,
    },
    MODERN: {
        "server/discover": {
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {}},
            "instructions": "be careful",
            **_LISTS,
            "_meta": {"io.modelcontextprotocol/serverInfo": _INFO},
        },
        "tools/list": {**_TOOLS, **_LISTS},
    },
}


class McpServer(HttpServer):
    """Speaks one era over streamable HTTP; each tool is a method ``_tool_NAME``."""

    def __init__(self, era: str = LEGACY, *, certificate: Path | None = None) -> None:
        super().__init__(certificate=certificate)
        self.era = era
        self.stalled = asyncio.Event()
        """The tool ``flood`` could not write for a while: nobody reads any more."""
        self._released = asyncio.Event()

    def release(self) -> None:
        """Let the slow tools answer."""
        self._released.set()

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.verb == "GET":
            await send(writer, 405)
        elif seen.verb == "DELETE":
            await send(writer, 204)
        elif not seen.is_request:
            await send(writer, 202)
        else:
            await self.reply_to(seen, InTheResponse(writer))

    async def reply_to(self, seen: Seen, reply: Reply) -> None:
        """Answer one JSON-RPC request."""
        if seen.method == "tools/call":
            await getattr(self, f"_tool_{seen.params['name']}")(seen, reply)
        elif (result := _RESULTS[self.era].get(seen.method)) is not None:
            headers = {"Mcp-Session-Id": "s-1"} if seen.method == "initialize" else None
            await reply.answer(self._response(seen, result), headers=headers)
        else:
            # 2025-11-25 leaves the status of an error open; 2026-07-28 has 404 for this one, and a
            # server of the older revisions knows no request before its session but initialize.
            status = 404 if self.era == MODERN else 200
            if seen.method == "server/discover":
                status = 400
            await reply.answer(seen.error(-32601, f"no {seen.method} here"), status=status)

    def _response(self, seen: Seen, result: Json) -> Json:
        return seen.response({"resultType": "complete", **result} if self.era == MODERN else result)

    async def _say(self, seen: Seen, reply: Reply, text: object) -> None:
        """Answer a tool call with a text."""
        result: Json = {"content": [{"type": "text", "text": text}]}
        await reply.answer(self._response(seen, result))

    # -- the tools --

    async def _tool_echo(self, seen: Seen, reply: Reply) -> None:
        """Gives its ``text`` back."""
        await self._say(seen, reply, _arguments(seen)["text"])

    async def _tool_length(self, seen: Seen, reply: Reply) -> None:
        """Tells how long its ``text`` is."""
        await self._say(seen, reply, str(len(str(_arguments(seen)["text"]))))

    async def _tool_big(self, seen: Seen, reply: Reply) -> None:
        """Gives ``size`` characters."""
        await self._say(seen, reply, "x" * _number(seen, "size"))

    async def _tool_slow(self, seen: Seen, reply: Reply) -> None:
        """Answers once :meth:`release` was called, and sends nothing before."""
        await self._released.wait()
        await self._say(seen, reply, "late")

    async def _tool_progress(self, seen: Seen, reply: Reply) -> None:
        """Sends one progress notification, then waits like ``slow``."""
        await reply.emit(_progress(seen, 1))
        await self._tool_slow(seen, reply)

    async def _tool_count(self, seen: Seen, reply: Reply) -> None:
        """Sends ``steps`` progress notifications, then its answer."""
        for step in range(1, _number(seen, "steps") + 1):
            await reply.emit(_progress(seen, step))
        await self._say(seen, reply, "counted")

    async def _tool_flood(self, seen: Seen, reply: Reply) -> None:
        """Sends ``steps`` notifications of ``size`` characters as fast as they are taken."""
        padding = "x" * _number(seen, "size")
        loop = asyncio.get_running_loop()
        for step in range(1, _number(seen, "steps") + 1):
            stall = loop.call_later(_STALL_SECONDS, self.stalled.set)
            try:
                await reply.emit(_progress(seen, step, padding))
            finally:
                stall.cancel()
        await self._say(seen, reply, "flooded")

    async def _tool_ask(self, seen: Seen, reply: Reply) -> None:
        """Asks the client its ``question`` within the call; its result is what the client said."""
        name = str(_arguments(seen)["question"])
        schema: Json = {"type": "object", "properties": {}}
        asked: Json = {"message": f"sure of {name}?", "requestedSchema": schema}
        if self.era == MODERN:
            await self._ask_for_a_retry(seen, reply, asked)
            return
        question = {"id": f"question-{name}", "method": "elicitation/create", "params": asked}
        await reply.emit({"jsonrpc": "2.0", **question})
        said = await self.saw_answer(question["id"])
        await self._say(seen, reply, json.dumps(said.message["result"]))

    async def _ask_for_a_retry(self, seen: Seen, reply: Reply, asked: Json) -> None:
        """The way of 2026-07-28: the call ends with the question and comes again with an answer."""
        said = seen.params.get("inputResponses")
        if said is not None:
            await self._say(seen, reply, json.dumps(said))
            return
        asking: Json = {"sure": {"method": "elicitation/create", "params": asked}}
        result: Json = {"resultType": "input_required", "inputRequests": asking}
        await reply.answer(seen.response(result))


class OldMcpServer(McpServer):
    """Speaks 2024-11-05 over HTTP+SSE: a GET opens the stream on which all answers come."""

    _ENDPOINT = "/messages?session=s-1"

    def __init__(self) -> None:
        super().__init__(LEGACY)
        self._stream: asyncio.StreamWriter | None = None

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.verb == "GET":
            self._stream = writer
            writer.write(head(200, {"Content-Type": "text/event-stream"}))
            writer.write(f"event: endpoint\ndata: {self._ENDPOINT}\n\n".encode())
            await asyncio.Event().wait()
        elif seen.target != self._ENDPOINT or self._stream is None:
            await send(writer, 405)
        else:
            await send(writer, 202)
            if seen.is_request:
                self._in_background(self.reply_to(seen, OnTheStream(self._stream)))


def _arguments(seen: Seen) -> Json:
    arguments = seen.params["arguments"]
    assert isinstance(arguments, dict)
    return arguments


def _number(seen: Seen, name: str) -> int:
    return int(str(_arguments(seen)[name]))


def _progress(seen: Seen, step: int, message: str = "") -> Json:
    meta = seen.params["_meta"]
    assert isinstance(meta, dict)
    params: Json = {"progressToken": meta["progressToken"], "progress": step}
    if message:
        params["message"] = message
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
