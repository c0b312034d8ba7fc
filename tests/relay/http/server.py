"""A hand-driven HTTP server: a test says byte by byte what the peer does."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio

PATIENCE = 5.0  # seconds for any wait; only a failing test comes near


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def head(self) -> Received:
        """The next request without its body; ``IncompleteReadError`` once the client closed."""
        with anyio.fail_after(PATIENCE):
            head = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")[:-2]
        method, path, _ = first.split(" ")
        fields = (line.split(": ", 1) for line in lines)
        return Received(method, path, {name.lower(): value for name, value in fields}, b"")

    async def request(self) -> Received:
        head = await self.head()
        with anyio.fail_after(PATIENCE):
            body = await self.reader.readexactly(int(head.headers.get("content-length", 0)))
        return Received(head.method, head.path, head.headers, body)

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            with anyio.fail_after(PATIENCE):
                await self.writer.drain()

    async def answer(self, body: bytes = b"", *headers: str, status: int = 200) -> None:
        lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}", *headers]
        await self.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def begin_stream(self, *headers: str) -> None:
        lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def send_chunk(self, data: bytes) -> None:
        """One chunk of a chunked body; none ends it."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def closed(self) -> None:
        """Wait until the client has closed or reset the connection."""
        with anyio.fail_after(PATIENCE), suppress(ConnectionError):
            while await self.reader.read(1 << 16):
                pass


@dataclass(slots=True)
class Server:
    """Where it listens, and the connections it has had."""

    scheme: str
    port: int
    host: str = "127.0.0.1"
    peers: list[Peer] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}/mcp"


Handler = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def serve(
    handler: Handler, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    """Run ``handler`` for each connection; what it raises, the test raises.

    A connection is closed when its handler returns. A client that goes away ends it quietly.
    """
    tasks: list[asyncio.Task[None]] = []

    async def run(peer: Peer) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await handler(peer)
        finally:
            # Closed twice, a TLS transport of Python 3.11.2 can no longer be aborted.
            if not peer.writer.transport.is_closing():
                peer.writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        server.peers.append(peer)
        tasks.append(asyncio.get_running_loop().create_task(run(peer)))

    listener = await asyncio.start_server(accept, host, 0, ssl=tls)
    server = Server("https" if tls else "http", listener.sockets[0].getsockname()[1])
    server.host = f"[{host}]" if ":" in host else host
    try:
        yield server
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for peer in server.peers:
            sock = peer.writer.get_extra_info("socket")
            if sock is not None and sock.fileno() >= 0:  # else it has ended by itself
                peer.writer.transport.abort()
            with suppress(ConnectionError, ssl.SSLError):
                await peer.writer.wait_closed()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
