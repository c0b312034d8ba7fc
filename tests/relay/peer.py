"""A small MCP server over HTTP/1.1 for the tests, and the relay as a process in front of it.

Everything waits on events: the server tells when a message arrived and when its caller hung up,
and a slow tool ends when the test says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

ROOT = Path(__file__).parents[2]
LEGACY, MODERN = "2025-11-25", "2026-07-28"
PATIENCE = 10.0

Json = dict[str, object]


@dataclass(frozen=True)
class Seen:
    """One request the server read."""

    verb: str
    headers: dict[str, str]
    message: Json

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))


class McpServer:
    """Speaks one era on a free port of 127.0.0.1.

    Tools: ``echo`` gives its ``text`` back, ``slow`` answers after :meth:`release`, before which
    it sends no head; ``progress`` sends one notification and then waits like ``slow``.
    """

    def __init__(self, era: str = LEGACY, *, certificate: Path | None = None) -> None:
        """``certificate``: a PEM file with its key, to speak TLS."""
        self.era = era
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(certificate)
        self.seen: list[Seen] = []
        self.port = 0
        self._news = asyncio.Condition()
        self._hung_up: list[str] = []
        self._released = asyncio.Event()
        self._handlers: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/mcp"

    def release(self) -> None:
        """Let the slow tools answer."""
        self._released.set()

    async def saw(self, method: str, times: int = 1) -> Seen:
        """Wait for the ``times``-th request with this JSON-RPC method (or HTTP verb)."""

        def found() -> list[Seen]:
            return [seen for seen in self.seen if method in (seen.method, seen.verb)]

        with anyio.fail_after(PATIENCE):
            async with self._news:
                await self._news.wait_for(lambda: len(found()) >= times)
        return found()[times - 1]

    async def hung_up(self, method: str) -> None:
        """Wait until the caller of ``method`` closes its connection before the answer is whole."""
        with anyio.fail_after(PATIENCE):
            async with self._news:
                await self._news.wait_for(lambda: method in self._hung_up)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[McpServer]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for handler in self._handlers:
                handler.cancel()
            await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            while seen := await self._read(reader):
                async with self._news:
                    self.seen.append(seen)
                    self._news.notify_all()
                await self._answer_unless_gone(seen, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader) -> Seen | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.strip().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Seen(first.split()[0], headers, json.loads(body) if body else {})

    async def _answer_unless_gone(
        self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        answering = asyncio.create_task(self._answer(seen, writer))
        gone = asyncio.create_task(reader.read(1))  # nothing more comes before the answer is whole
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                async with self._news:
                    self._hung_up.append(seen.method)
                    self._news.notify_all()
                raise ConnectionError
            await answering
        finally:
            for task in (answering, gone):
                task.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)

    async def _answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.verb == "GET":
            await self._send(writer, 405)
        elif seen.verb == "DELETE":
            await self._send(writer, 204)
        elif "id" not in seen.message or "method" not in seen.message:
            await self._send(writer, 202)
        elif seen.method == "tools/call":
            await self._call(seen, writer)
        else:
            await self._result(seen, writer, self._plain_result(seen.method))

    def _plain_result(self, method: str) -> Json | None:
        info = {"name": "peer", "version": "7"}
        if self.era == MODERN:
            results: dict[str, Json] = {
                "server/discover": {
                    "supportedVersions": [MODERN],
                    "capabilities": {"tools": {}},
                    "instructions": "be careful",
                    "ttlMs": 0,
                    "cacheScope": "private",
                    "_meta": {"io.modelcontextprotocol/serverInfo": info},
                },
                "tools/list": {"tools": [{"name": "echo"}], "ttlMs": 0, "cacheScope": "private"},
            }
            return results.get(method)
        results = {
            "initialize": {
                "protocolVersion": LEGACY,
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": info,
            },
            "ping": {},
            "tools/list": {"tools": [{"name": "echo"}, {"name": "slow"}]},
        }
        return results.get(method)

    async def _call(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        params = seen.message["params"]
        assert isinstance(params, dict)
        if params["name"] == "slow":
            await self._released.wait()
        if params["name"] == "progress":
            writer.write(_head(200, {"Content-Type": "text/event-stream", "Connection": "close"}))
            progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1}
            note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
            writer.write(b"data: " + json.dumps(note).encode() + b"\n\n")
            await writer.drain()
            await self._released.wait()
            writer.write(
                b"data: " + json.dumps(_response(seen, {"content": []})).encode() + b"\n\n"
            )
            raise ConnectionError
        text = params["arguments"].get("text", "") if params["name"] == "echo" else "late"
        await self._result(seen, writer, {"content": [{"type": "text", "text": text}]})

    async def _result(self, seen: Seen, writer: asyncio.StreamWriter, result: Json | None) -> None:
        if result is None:
            error = {"code": -32601, "message": f"no {seen.method} here"}
            message: Json = {"jsonrpc": "2.0", "id": seen.message["id"], "error": error}
            # 2025-11-25 leaves the status of an error open; 2026-07-28 has 404 for this one, and a
            # server of the older revisions knows no request before its session but initialize.
            status = 404 if self.era == MODERN else 200
            if seen.method == "server/discover":
                status = 400
            await self._send(writer, status, json.dumps(message).encode())
            return
        if self.era == MODERN:
            result = {"resultType": "complete", **result}
        headers = {"Mcp-Session-Id": "s-1"} if seen.method == "initialize" else {}
        body = json.dumps(_response(seen, result), ensure_ascii=False).encode()
        await self._send(writer, 200, body, headers)

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> None:
        fields = {"Content-Length": str(len(body)), **(headers or {})}
        if status == 204:
            del fields["Content-Length"]
        if body:
            fields["Content-Type"] = "application/json"
        writer.write(_head(status, fields) + body)
        await writer.drain()


def _response(seen: Seen, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": seen.message["id"], "result": result}


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


class Relay:
    """The relay as its users run it: a process with pipes. Every wait is bounded."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.messages: list[Json] = []
        self._last_id = 0

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, **message: object) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")

    def start(self, method: str, params: Json | None = None) -> int:
        """Send a request; return its id."""
        self._last_id += 1
        self.send(id=self._last_id, method=method, params=params or {})
        return self._last_id

    def call(self, name: str, meta: Json | None = None, **arguments: object) -> int:
        return self.start("tools/call", {"name": name, "arguments": arguments, "_meta": meta or {}})

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def line(self) -> bytes:
        """The next line of stdout; empty at its end."""
        assert self.process.stdout is not None
        with anyio.fail_after(PATIENCE):
            return await self.process.stdout.readline()

    async def message(self) -> Json:
        """The next message; fails at the end of stdout, so that no test passes on silence."""
        line = await self.line()
        assert line, "the relay closed stdout"
        message: Json = json.loads(line)
        self.messages.append(message)
        return message

    async def answer(self, request_id: int) -> Json:
        """Read on until the answer to this request."""
        while (message := await self.message()).get("id") != request_id:
            pass
        return message

    async def initialize(self) -> Json:
        params: Json = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        answer = await self.answer(self.start("initialize", params))
        self.send(method="notifications/initialized")
        return answer

    async def rest(self) -> list[Json]:
        """Read stdout to its end."""
        messages = []
        while line := await self.line():
            messages.append(json.loads(line))
        return messages

    async def exit_code(self) -> int:
        with anyio.fail_after(PATIENCE):
            return await self.process.wait()

    async def stderr(self) -> str:
        """All of stderr; only after the process has ended, or is about to."""
        assert self.process.stderr is not None
        with anyio.fail_after(PATIENCE):
            return (await self.process.stderr.read()).decode()


@asynccontextmanager
async def relay(
    *arguments: str, environ: dict[str, str] | None = None, program: Sequence[str] = ("-m", "relay")
) -> AsyncIterator[Relay]:
    """Run the relay with these arguments; it does not outlive the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
        limit=1 << 26,
        env={**_clean_environ(), **(environ or {})},
    )
    try:
        yield Relay(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def _clean_environ() -> dict[str, str]:
    ours = ("CANFERRY_RELAY_", "MCP_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
