"""Servers built the way the MCP SDK 1.x documents it: it speaks only revisions with a handshake.

The tools are those of ``mcp_2``, as far as this SDK has them. The kinds:

* ``dual``, ``legacy``: both are Streamable HTTP, up to 2025-11-25
* ``polling``: the same, with an event store and a ``retry`` of half a second
* ``sse``: HTTP+SSE of 2024-11-05
* ``changing``, ``changing-events``: those of ``mcp_1_changing``
"""

from __future__ import annotations

import json

import anyio
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.session import ServerSession
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel
from starlette.requests import Request
from starlette.types import ASGIApp

from tests_integration.peers import calls, forked, mcp_1_changing
from tests_integration.peers.events import RETRY_MILLISECONDS, Events

ToolContext = Context[ServerSession, None, Request]


class Name(BaseModel):
    name: str


class Age(BaseModel):
    age: int


async def ask_name(ctx: ToolContext) -> str:
    answer = await ctx.elicit("What is your name?", Name)
    if not isinstance(answer, AcceptedElicitation):
        raise ValueError(f"no name: {answer.action}")
    return answer.data.name


async def ask_age(ctx: ToolContext) -> int:
    answer = await ctx.elicit("How old are you?", Age)
    if not isinstance(answer, AcceptedElicitation):
        raise ValueError(f"no age: {answer.action}")
    return answer.data.age


async def ask_model(ctx: ToolContext) -> str:
    question = SamplingMessage(role="user", content=TextContent(type="text", text="a word, please"))
    answer = await ctx.session.create_message(
        [question], max_tokens=5, related_request_id=ctx.request_id
    )
    assert isinstance(answer.content, TextContent)
    return answer.content.text


async def ask_roots(ctx: ToolContext) -> str:
    """This SDK asks on the GET stream: it cannot tell a client which call the question is for."""
    return str((await ctx.session.list_roots()).roots[0].uri)


async def count(ctx: ToolContext, steps: int) -> str:
    """Report progress ``steps`` times, then answer."""
    return await calls.count(ctx, steps)


async def hold(ctx: ToolContext, key: str, loud: bool) -> str:
    """Never answer; ``loud``: report progress first."""
    if loud:
        await ctx.report_progress(1, 2, "holding")
    return await calls.hold(key)


async def greet(ctx: ToolContext, greeting: str) -> str:
    """Ask for a name."""
    return f"{greeting} {await ask_name(ctx)}"


async def interview(ctx: ToolContext) -> str:
    """Ask for all that a client can be asked for."""
    name, age = await ask_name(ctx), await ask_age(ctx)
    return f"{name} {age} {await ask_model(ctx)} {await ask_roots(ctx)}"


async def consult(ctx: ToolContext, key: str, forever: bool) -> str:
    """Ask for a name, with progress before and after; ``forever``: never answer then."""
    async with calls.telling(key):
        await ctx.report_progress(1, 2, "asking")
        answer = await ctx.elicit("What is your name?", Name)
        await ctx.report_progress(2, 2, "asked")
        forked.say(f"answered {key}")
        if forever:
            await anyio.sleep_forever()
    return answer.action


async def poll(ctx: ToolContext, steps: int, party: str = "") -> str:
    """Close the stream of the response after the first of several steps.

    ``party``: once a call of ``meet`` has come to it, so that the client may see the first step.
    """
    return await calls.poll(ctx, steps, party)


def reveal(ctx: ToolContext) -> str:
    """Answer with the headers and the ``_meta`` of the call, as JSON."""
    request, meta = ctx.request_context.request, ctx.request_context.meta
    headers = dict(request.headers) if request else {}
    return json.dumps({"headers": headers, "meta": meta.model_dump() if meta else None})


def reference(events: Events | None = None) -> FastMCP[None]:
    server: FastMCP[None] = FastMCP(
        "reference",
        instructions="A server nobody here wrote.",
        event_store=events,
        retry_interval=RETRY_MILLISECONDS if events else None,
        sse_path="/mcp",
        log_level="WARNING",
    )
    for tool in (*calls.TOOLS, count, hold, greet, interview, consult, poll, reveal):
        server.add_tool(tool)
    server.resource("note://one")(calls.note)
    server.prompt()(calls.letter)
    return server


def streamable() -> ASGIApp:
    return reference().streamable_http_app()


APPLICATIONS: forked.Applications = {
    "dual": streamable,
    "legacy": streamable,
    "polling": lambda: reference(Events()).streamable_http_app(),
    "sse": lambda: reference().sse_app(),
    **mcp_1_changing.APPLICATIONS,
}


if __name__ == "__main__":
    forked.main(APPLICATIONS)
