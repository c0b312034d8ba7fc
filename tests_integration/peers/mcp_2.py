"""Servers built the way the MCP SDK 2.x documents it, for the relay to stand in front of.

They say on stdout which calls of ``hold`` have started and which were cancelled. The kinds:

* ``dual``: Streamable HTTP, of all revisions
* ``legacy``: the same, refusing 2026-07-28 in the words of the SDK's releases before 2.0
* ``polling``: the same as ``dual``, with an event store and a ``retry`` of half a second
* ``sse``: HTTP+SSE of 2024-11-05
* ``kept-key``: the same as ``dual``, whose ``requestState`` outlives a restart
* ``short-state``: the same as ``dual``, whose ``requestState`` is good for a second; it says
  ``expired`` when one no longer is
* ``changing``, ``changing-events``, ``one-event``: those of ``mcp_2_changing``
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Annotated

import anyio
from mcp.server.mcpserver import (
    AESGCMRequestStateCodec,
    Context,
    Elicit,
    ListRoots,
    MCPServer,
    RequestStateSecurity,
    Resolve,
    Sample,
)
from mcp.types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Receive, Scope, Send

from tests_integration.peers import calls, forked, mcp_2_changing
from tests_integration.peers.events import RETRY_MILLISECONDS, Events


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


async def count(ctx: Context, steps: int) -> str:
    """Report progress ``steps`` times, then answer."""
    return await calls.count(ctx, steps)


async def hold(ctx: Context, key: str, loud: bool) -> str:
    """Never answer; ``loud``: report progress first, so that the response begins."""
    if loud:
        await ctx.report_progress(1, 2, "holding")
    return await calls.hold(key)


async def rest(seconds: float) -> str:
    """Say nothing for a while, then answer."""
    await asyncio.sleep(seconds)
    return "rested"


async def greet(greeting: str, who: Annotated[Name, Resolve(ask_name)]) -> str:
    """Ask for a name."""
    return f"{greeting} {who.name}"


async def interview(
    who: Annotated[Name, Resolve(ask_name)],
    age: Annotated[Age, Resolve(ask_age)],
    word: Annotated[CreateMessageResult, Resolve(ask_model)],
    roots: Annotated[ListRootsResult, Resolve(ask_roots)],
) -> str:
    """Ask for all that a client can be asked for."""
    assert isinstance(word.content, TextContent)
    return f"{who.name} {age.age} {word.content.text} {roots.roots[0].uri}"


async def consult(ctx: Context, key: str, forever: bool) -> str:
    """Ask for a name, with progress before and after; ``forever``: never answer then.

    Of the older revisions alone, in which a server may ask in the midst of a call.
    """
    async with calls.telling(key):
        await ctx.report_progress(1, 2, "asking")
        answer = await ctx.elicit("What is your name?", Name)
        await ctx.report_progress(2, 2, "asked")
        forked.say(f"answered {key}")
        if forever:
            await anyio.sleep_forever()
    return answer.action


async def poll(ctx: Context, steps: int, party: str = "") -> str:
    """Close the stream of the response after the first of several steps.

    ``party``: once a call of ``meet`` has come to it, so that the client may see the first step.
    """
    return await calls.poll(ctx, steps, party)


async def publish(ctx: Context, uri: str) -> str:
    """Tell those that listen that a resource has changed."""
    await ctx.notify_resource_updated(uri)
    return f"published {uri}"


def reveal(ctx: Context) -> str:
    """Answer with the headers and the ``_meta`` of the call, as JSON."""
    params = ctx.request_context.params or {}
    return json.dumps({"headers": dict(ctx.headers or {}), "meta": params.get("_meta")})


def steer(
    ctx: Context,
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    count: int = 0,
) -> str:
    """Answer with the header that mirrors ``region``, as it was sent."""
    return (ctx.headers or {}).get("mcp-param-region", "")


def reference(security: RequestStateSecurity | None = None) -> MCPServer:
    server = MCPServer(
        "reference",
        version="1.0",
        instructions="A server nobody here wrote.",
        request_state_security=security,
    )
    asking = (greet, interview, consult)
    others = (count, hold, rest, poll, publish, reveal, steer)
    for tool in (*calls.TOOLS, *asking, *others):
        server.add_tool(tool)
    server.resource("note://one")(calls.note)
    server.prompt()(calls.letter)
    return server


class ShortLived(AESGCMRequestStateCodec):
    """Says when a state that it has sealed is no longer good."""

    SECONDS = 1.0
    MARGIN = 0.1  # between the clock that states are judged by and the loop's

    def __init__(self) -> None:
        super().__init__([os.urandom(32)])

    def seal(self, payload: bytes) -> str:
        asyncio.get_running_loop().call_later(self.SECONDS + self.MARGIN, forked.say, "expired")
        return super().seal(payload)


KEPT = RequestStateSecurity(keys=["a key that the operator of this server keeps"])
SHORT = RequestStateSecurity(codec=ShortLived(), ttl=ShortLived.SECONDS)


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


def polling() -> ASGIApp:
    return reference().streamable_http_app(event_store=Events(), retry_interval=RETRY_MILLISECONDS)


APPLICATIONS: forked.Applications = {
    "dual": lambda: reference().streamable_http_app(),
    "legacy": lambda: LegacyOnly(reference().streamable_http_app()),
    "polling": polling,
    "sse": lambda: reference().sse_app(sse_path="/mcp"),
    "kept-key": lambda: reference(KEPT).streamable_http_app(),
    "short-state": lambda: reference(SHORT).streamable_http_app(),
    **mcp_2_changing.APPLICATIONS,
}


if __name__ == "__main__":
    forked.main(APPLICATIONS)
