"""A small HTTP/1.1 server whose every wait is on an event, never on a clock.

It tells when a message arrived and when its caller hung up; what it answers is a subclass' say.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio

from tests.relay.peer.wire import PATIENCE, Json


@dataclass(frozen=True)
class Seen:
    """One request the server read."""

    verb: str
    target: str
    headers: dict[str, str]
    body: bytes
    message: Json

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))

    @property
    def params(self) -> Json:
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def is_request(self) -> bool:
        return "id" in self.message and "method" in self.message

    def response(self, result: Json) -> Json:
        return {"jsonrpc": "2.0", "id": self.message["id"], "result": result}

    def error(self, code: int, message: str) -> Json:
        error = {"code": code, "message": message}
        return {"jsonrpc": "2.0", "id": self.message["id"], "error": error}


class HttpServer:
    """Listens on a free port of 127.0.0.1 and reads one request at a time from a connection."""

    def __init__(self, *, certificate: Path | None = None) -> None:
        """``certificate``: a PEM file with its key, to speak TLS."""
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(certificate)
        self.seen: list[Seen] = []
        self.port = 0
        self._news = asyncio.Condition()
        self._hung_up: list[str] = []
        self._handlers: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/mcp"

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        """Answer one request; a ``ConnectionError`` closes the connection after it."""
        raise NotImplementedError

    async def saw(self, method: str, times: int = 1) -> Seen:
        """Wait for the ``times``-th request with this JSON-RPC method (or HTTP verb)."""

        def found() -> list[Seen]:
            return [seen for seen in self.seen if method in (seen.method, seen.verb)]

        with anyio.fail_after(PATIENCE):
            async with self._news:
                await self._news.wait_for(lambda: len(found()) >= times)
        return found()[times - 1]

    async def saw_answer(self, request_id: object) -> Seen:
        """Wait for the client's answer to a request of the server."""

        def found() -> list[Seen]:
            return [
                seen
                for seen in self.seen
                if not seen.method and seen.message.get("id") == request_id
            ]

        with anyio.fail_after(PATIENCE):
            async with self._news:
                await self._news.wait_for(found)
        return found()[0]

    async def hung_up(self, method: str, times: int = 1) -> None:
        """Wait until callers of ``method`` closed their connections before the whole answer."""
        with anyio.fail_after(PATIENCE):
            async with self._news:
                await self._news.wait_for(lambda: self._hung_up.count(method) >= times)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        server = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, ssl=self._tls, backlog=1024
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for handler in self._handlers:
                handler.cancel()
            await asyncio.gather(*self._handlers, return_exceptions=True)

    def _in_background(self, work: Coroutine[object, object, None]) -> None:
        """Do something that ends with the server at the latest."""
        task = asyncio.create_task(work)
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)

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
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Seen | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.strip().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        try:
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        except asyncio.IncompleteReadError:
            return None
        verb, target, _ = first.split()
        return Seen(verb, target, headers, body, json.loads(body) if body else {})

    async def _answer_unless_gone(
        self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        answering = asyncio.create_task(self.answer(seen, writer))
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


async def send(
    writer: asyncio.StreamWriter,
    status: int,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> None:
    """Write one whole response; a body is JSON unless ``headers`` say otherwise."""
    fields = {"Content-Length": str(len(body))}
    if status == 204:
        del fields["Content-Length"]
    if body:
        fields["Content-Type"] = "application/json"
    writer.write(head(status, {**fields, **(headers or {})}) + body)
    await writer.drain()


def head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
