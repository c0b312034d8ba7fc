"""The service over HTTP: ``/mcp`` for every MCP era and ``/health``, guarded against rebinding."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import BindFailedError, BindRefusedError

GRACE_SECONDS = 5
"""How long open exchanges may go on after the order to stop."""

Health = Mapping[str, object]


def build_app(
    server: Server[dict[str, Any]],
    health: Callable[[], Health],
    allowed_hosts: list[str] | None = None,
) -> Starlette:
    """The ASGI application. ``allowed_hosts`` are further Host values, as a TLS proxy passes on.

    A page in a browser must not reach the rig: Host and Origin are checked on every route
    (MCP 2025-11-25, transports, security warning).
    """
    names = ["127.0.0.1:*", "localhost:*", "[::1]:*", *(allowed_hosts or [])]
    security = TransportSecuritySettings(
        allowed_hosts=names,
        allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names],
    )
    guard = TransportSecurityMiddleware(security)

    async def answer_health(request: Request) -> Response:
        refused = await guard.validate_request(request)
        return refused or JSONResponse(dict(health()))

    return server.streamable_http_app(
        transport_security=security,
        custom_starlette_routes=[Route("/health", answer_health, methods=["GET"])],
    )


def listen(host: str, port: int) -> socket.socket:
    """A bound socket on a loopback address; port 0 takes any free one.

    Errors: BindRefusedError for an address that others could reach, BindFailedError.
    """
    if not is_loopback(host):
        raise BindRefusedError(f"'{host}' is not a loopback address and calls carry no tokens yet")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        # asyncio turns Nagle's algorithm off only where the protocol is named: 40 ms per answer.
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise BindFailedError(f"{host}:{port} cannot be listened on: {error}") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise BindFailedError(f"{host}:{port} cannot be listened on: {error}") from error
    return bound


def url_of(bound: socket.socket) -> str:
    """The MCP endpoint behind a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address; names other than localhost are refused."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@asynccontextmanager
async def serving(app: Starlette, bound: socket.socket) -> AsyncIterator[uvicorn.Server]:
    """Serve on the socket while the context is open; requests are taken from the first moment."""
    stopping = anyio.Event()
    server = _Server(
        uvicorn.Config(
            _EndingStreams(_trimmed(app), stopping),
            log_config=None,
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [bound])
        await server.ready.wait()
        try:
            yield server
        finally:
            stopping.set()
            server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn without its signal handling, which would end the process before the buses close."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _trimmed(app: ASGIApp) -> ASGIApp:
    """Header values without the white space around them, which is no part of them (RFC 9110, 5.5).

    httptools, which uvicorn reads requests with where it is installed, leaves it at their ends.
    """

    async def with_trimmed_headers(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return with_trimmed_headers


class _EndingStreams:
    """Ends idle event streams when the service stops, instead of waiting for the clients to.

    Only GET opens a stream that carries no answer of its own (MCP 2025-11-25, transports,
    "Listening for Messages from the Server"); calls in flight keep their time.
    """

    def __init__(self, app: ASGIApp, stopping: anyio.Event) -> None:
        self._app = app
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        is_open = False

        async def watched_send(message: Message) -> None:
            nonlocal is_open
            await send(message)
            is_open = message["type"] == "http.response.start" or message.get("more_body", False)

        async def end_with_service() -> None:
            await self._stopping.wait()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_with_service)
            await self._app(scope, receive, watched_send)
            tasks.cancel_scope.cancel()
        if is_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
