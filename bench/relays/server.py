"""The server of the comparison: MCP over HTTP of both eras, with as little work as a call can be.

It answers on 127.0.0.1; its first line on stdout is the URL. It ends when its stdin closes, so it
cannot outlive who started it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from functools import lru_cache
from typing import cast

from httptools import HttpRequestParser

MODERN = "2026-07-28"
NOTIFICATIONS_PER_CHUNK = 50

JsonObject = dict[str, object]
_CAPABILITIES: JsonObject = {"tools": {}}
_SERVER_INFO: JsonObject = {"name": "bench", "version": "1"}
_TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}}
    for name in ("echo", "sleep", "blob", "event", "progress")
]
_RESULTS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "initialize": lambda params: {
        "protocolVersion": params["protocolVersion"],
        "capabilities": _CAPABILITIES,
        "serverInfo": _SERVER_INFO,
    },
    "server/discover": lambda _: {
        "supportedVersions": [MODERN],
        "capabilities": _CAPABILITIES,
        "_meta": {"io.modelcontextprotocol/serverInfo": _SERVER_INFO},
        "ttlMs": 60000,
        "cacheScope": "public",
    },
    "tools/list": lambda _: {"tools": _TOOLS, "ttlMs": 60000, "cacheScope": "public"},
    "ping": lambda _: {},
}


class Endpoint(asyncio.Protocol):
    """One connection. The ``on_`` methods are httptools' callbacks."""

    def __init__(self) -> None:
        self._parser = HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._writable = asyncio.Event()
        self._writable.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._path = b""
        self._body: list[bytes] = []
        self._modern = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()

    def on_message_begin(self) -> None:
        self._body = []
        self._modern = False

    def on_url(self, url: bytes) -> None:
        self._path = url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"mcp-protocol-version":
            self._modern = value == MODERN.encode()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        verb = self._parser.get_method()
        if self._path != b"/mcp":
            self._answer(b"404 Not Found")  # a peer looks for OAuth metadata, for example
        elif verb == b"GET" and not self._modern:
            self._begin_stream()  # held open; nothing is ever pushed
        elif verb == b"DELETE" and not self._modern:
            self._answer(b"200 OK")
        elif verb == b"POST":
            self._post(json.loads(b"".join(self._body)))
        else:
            self._answer(b"405 Method Not Allowed")

    def _post(self, message: JsonObject) -> None:
        method, request_id = message.get("method"), message.get("id")
        if method is None or request_id is None:
            self._answer(b"202 Accepted")
            return
        params = cast(JsonObject, message.get("params") or {})
        if method == "tools/call":
            self._call(request_id, params)
        elif method in _RESULTS:
            session = b"Mcp-Session-Id: bench\r\n" if method == "initialize" else b""
            self._result(request_id, _RESULTS[str(method)](params), session)
        else:
            error = {"code": -32601, "message": "Method not found"}
            status = b"404 Not Found" if self._modern else b"200 OK"
            self._answer(status, _json({"jsonrpc": "2.0", "id": request_id, "error": error}))

    def _call(self, request_id: object, params: JsonObject) -> None:
        arguments = cast("dict[str, int]", params.get("arguments") or {})
        match params["name"]:
            case "echo":
                self._result(request_id, _content(str(arguments["text"])))
            case "sleep":
                result = _content("slept")
                loop = asyncio.get_running_loop()
                loop.call_later(arguments["seconds"], self._result, request_id, result)
            case "blob":
                self._answer(b"200 OK", self._big_result(request_id, arguments["bytes"]))
            case "event":
                body = self._big_result(request_id, arguments["bytes"])
                self._start(self._one_event(body, arguments["chunk"]))
            case "progress":
                meta = cast(JsonObject, params["_meta"])
                token = _json(meta["progressToken"])
                self._start(self._progress(request_id, token, arguments["count"]))
            case name:
                self._result(request_id, {**_content(f"no tool {name}"), "isError": True})

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _one_event(self, body: bytes, chunk: int) -> None:
        """One event of one ``data:`` line, ``chunk`` bytes of it in each chunk of the body."""
        self._begin_stream()
        event = memoryview(b"event: message\ndata: " + body + b"\n\n")
        for start in range(0, len(event), chunk):
            await self._writable.wait()
            self._chunk(event[start : start + chunk])
        self._end_stream()

    async def _progress(self, request_id: object, token: bytes, count: int) -> None:
        self._begin_stream()
        event = (
            b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":'
            b'{"progressToken":' + token + b',"progress":%d,"total":%d}}\n\n'
        )
        for first in range(0, count, NOTIFICATIONS_PER_CHUNK):
            await self._writable.wait()
            numbers = range(first + 1, min(first + NOTIFICATIONS_PER_CHUNK, count) + 1)
            self._chunk(b"".join(event % (number, count) for number in numbers))
            await asyncio.sleep(0)  # others get their turn
        self._chunk(b"data: " + self._response(request_id, _content(f"sent {count}")) + b"\n\n")
        self._end_stream()

    def _begin_stream(self) -> None:
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )

    def _chunk(self, data: bytes | memoryview) -> None:
        self._transport.writelines((b"%x\r\n" % len(data), data, b"\r\n"))

    def _end_stream(self) -> None:
        self._transport.write(b"0\r\n\r\n")

    def _result(self, request_id: object, result: JsonObject, headers: bytes = b"") -> None:
        self._answer(b"200 OK", self._response(request_id, result), headers)

    def _response(self, request_id: object, result: JsonObject) -> bytes:
        if self._modern:
            result = {"resultType": "complete", **result}
        return _json({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _big_result(self, request_id: object, size: int) -> bytes:
        """A result of ``size`` bytes of text, put together without a look at the text."""
        frame = self._response(request_id, _content("@"))
        return frame.replace(b"@", _text(size), 1)

    def _answer(self, status: bytes, body: bytes = b"", headers: bytes = b"") -> None:
        kind = b"Content-Type: application/json\r\n" if body else b""
        head = b"HTTP/1.1 %b\r\n%b%bContent-Length: %d\r\n\r\n" % (status, kind, headers, len(body))
        self._transport.write(head + body)


@lru_cache(maxsize=8)
def _text(size: int) -> bytes:
    return b"x" * size


def _content(text: str) -> JsonObject:
    return {"content": [{"type": "text", "text": text}]}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Endpoint, "127.0.0.1", 0, backlog=512)
    host, port = server.sockets[0].getsockname()
    print(f"http://{host}:{port}/mcp", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
