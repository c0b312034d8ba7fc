"""A server built the way the MCP SDK documents it, for the relay to stand in front of."""

from __future__ import annotations

import socket

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("reference", version="1.0", instructions="A server nobody here wrote.")


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
async def wait_for_ever() -> str:
    """Never answer; only a cancellation ends it."""
    await anyio.sleep_forever()
    return "unreachable"


@server.tool()
def fail() -> str:
    """Raise."""
    raise ValueError("broken on purpose")


@server.resource("note://one")
def note() -> str:
    """A short text."""
    return "grüße, 世界"


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)  # noqa: T201
    config = uvicorn.Config(
        server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
