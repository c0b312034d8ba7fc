"""Servers built the way the MCP SDK documents it, for the relay to stand in front of.

Loading the SDK takes seconds, so it is loaded once and each server is forked from there. Lines on
stdin are orders: ``start KIND PORT`` (port 0: of the kernel's choice) and ``kill PID``. Lines on
stdout tell where a server listens and under which pid, that one was killed, and which calls of
``hold`` have started and which were cancelled. The kinds:

* ``dual``: Streamable HTTP, of all revisions
* ``legacy``: the same, refusing 2026-07-28 in the words of the SDK's releases before 2.0
* ``polling``: the same as ``dual``, with an event store and a ``retry`` of 100 ms
* ``sse``: HTTP+SSE of 2024-11-05
* ``changing``: a server whose resources can be subscribed to in every revision
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, NoReturn

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types import (
    CreateMessageResult,
    JSONRPCMessage,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from tests_integration import changing_server

server = MCPServer("reference", version="1.0", instructions="A server nobody here wrote.")


class Name(BaseModel):
    name: str


class Age(BaseModel):
    age: int


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def ask_age() -> Elicit[Age]:
    return Elicit("How old are you?", Age)


def ask_model() -> Sample:
    question = TextContent(type="text", text="a word, please")
    return Sample([SamplingMessage(role="user", content=question)], max_tokens=5)


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool()
async def count(ctx: Context, steps: int) -> str:
    """Report progress ``steps`` times, then answer."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return f"counted to {steps}"


@server.tool()
async def hold(ctx: Context, key: str, loud: bool) -> str:
    """Never answer; ``loud``: report progress first, so that the response begins."""
    try:
        if loud:
            await ctx.report_progress(1, 2, "holding")
        say(f"started {key}")
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        say(f"cancelled {key}")
        raise
    return "unreachable"


@server.tool()
async def greet(greeting: str, who: Annotated[Name, Resolve(ask_name)]) -> str:
    """Ask for a name."""
    return f"{greeting} {who.name}"


@server.tool()
async def interview(
    who: Annotated[Name, Resolve(ask_name)],
    age: Annotated[Age, Resolve(ask_age)],
    word: Annotated[CreateMessageResult, Resolve(ask_model)],
    roots: Annotated[ListRootsResult, Resolve(ask_roots)],
) -> str:
    """Ask for all that a client can be asked for."""
    assert isinstance(word.content, TextContent)
    return f"{who.name} {age.age} {word.content.text} {roots.roots[0].uri}"


@server.tool()
async def poll(ctx: Context, steps: int) -> str:
    """Close the stream of the response after the first of several steps."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        if step == 0:
            await ctx.close_sse_stream()
    return f"polled {steps}"


@server.tool()
def fail() -> str:
    """Raise."""
    raise ValueError("broken on purpose")


@server.resource("note://one")
def note() -> str:
    """A short text."""
    return "grüße, 世界"


class Events(EventStore):
    """Keeps all events in memory; an event's id is its place among them."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[EventMessage], Awaitable[None]]
    ) -> str | None:
        place = int(last_event_id)
        stream_id, _ = self._events[place - 1]
        for number, (stream, message) in enumerate(self._events[place:], place + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


class LegacyOnly:
    """An application behind a door that knows no revision later than 2025-11-25."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        if headers.get(b"mcp-protocol-version") != b"2026-07-28":
            await self._app(scope, receive, send)
            return
        error = {"code": -32600, "message": "Bad Request: Unsupported protocol version: 2026-07-28"}
        body = json.dumps({"jsonrpc": "2.0", "id": "server-error", "error": error}).encode()
        kind = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 400, "headers": kind})
        await send({"type": "http.response.body", "body": body})


APPLICATIONS: dict[str, Callable[[], ASGIApp]] = {
    "dual": server.streamable_http_app,
    "legacy": lambda: LegacyOnly(server.streamable_http_app()),
    "polling": lambda: server.streamable_http_app(event_store=Events(), retry_interval=100),
    "sse": lambda: server.sse_app(sse_path="/mcp"),
    "changing": changing_server.application,
}


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def serve(app: ASGIApp, port: int) -> None:
    listener = socket.create_server(("127.0.0.1", port))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    say(f"listening on {url} as {os.getpid()}")
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


class Children:
    """The servers that run."""

    def __init__(self) -> None:
        self._pids: set[int] = set()

    def start(self, kind: str, port: int) -> None:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            serve(APPLICATIONS[kind](), port)
            os._exit(0)
        self._pids.add(pid)

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._pids.remove(pid)

    def end(self, *_: object) -> NoReturn:
        for pid in tuple(self._pids):
            self.kill(pid)
        sys.exit(0)


def main() -> None:
    children = Children()
    signal.signal(signal.SIGTERM, children.end)
    for line in sys.stdin:
        match line.split():
            case ["start", kind, port]:
                children.start(kind, int(port))
            case ["kill", pid]:
                children.kill(int(pid))
                say(f"killed {pid}")
    children.end()


if __name__ == "__main__":
    main()
