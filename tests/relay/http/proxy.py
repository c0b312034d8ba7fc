"""A hand-written HTTP proxy on loopback: absolute form for http, CONNECT for https."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from relay.proxies import Proxy
from tests.relay.http.server import Peer, Received, serve

SOURCE = "HTTPS_PROXY"


@dataclass(slots=True)
class HttpProxy:
    """Where it listens, who may use it, and the requests it has had."""

    port: int = 0
    credentials: tuple[str, str] | None = None
    received: list[Received] = field(default_factory=list)

    def seen_by(self, credentials: tuple[str, str] | None = None) -> Proxy:
        """The proxy as a client is told of it."""
        return Proxy(f"http://127.0.0.1:{self.port}", SOURCE, credentials, asked_for=False)

    def admits(self, request: Received) -> bool:
        if self.credentials is None:
            return True
        pair = base64.b64encode(":".join(self.credentials).encode()).decode()
        return request.headers.get("proxy-authorization") == f"Basic {pair}"

    async def handle(self, peer: Peer) -> None:
        """Take one request and hand on everything after it, both ways, until one side closes."""
        request = await peer.head()
        self.received.append(request)
        if not self.admits(request):
            await peer.answer(b"no", 'Proxy-Authenticate: Basic realm="lab"', status=407)
            return
        tunnel = request.method == "CONNECT"
        parts = urlsplit(f"//{request.path}" if tunnel else request.path)
        assert parts.hostname is not None and parts.port is not None
        try:
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            await peer.answer(b"", status=502)
            return
        if tunnel:
            await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            lines = [f"{request.method} {path} HTTP/1.1"]
            lines += [f"{name}: {value}" for name, value in request.headers.items()]
            writer.write("\r\n".join([*lines, "", ""]).encode())
        try:
            await _hand_on(peer, reader, writer)
        finally:
            writer.transport.abort()


async def _hand_on(peer: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()

    ways = [
        asyncio.ensure_future(copy(peer.reader, writer)),
        asyncio.ensure_future(copy(reader, peer.writer)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)


@asynccontextmanager
async def serve_proxy(credentials: tuple[str, str] | None = None) -> AsyncIterator[HttpProxy]:
    proxy = HttpProxy(credentials=credentials)
    async with serve(proxy.handle) as server:
        proxy.port = server.port
        yield proxy
