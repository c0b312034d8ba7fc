"""A low-level server of the MCP SDK whose resources can be subscribed to in every revision."""

from __future__ import annotations

from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    ListToolsResult,
    PaginatedRequestParams,
    SubscribeRequestParams,
    TextContent,
    Tool,
    UnsubscribeRequestParams,
)
from starlette.types import ASGIApp

URI = "note://changing"

ServerContext = ServerRequestContext[Any, Any]


def application() -> ASGIApp:
    """Tools: ``touch`` changes :data:`URI`, ``hang_up`` ends the ``subscriptions/listen``."""
    bus = InMemorySubscriptionBus()
    listens = ListenHandler(bus)
    sessions: list[Any] = []  # that have subscribed by themselves, in the older revisions

    async def list_tools(
        ctx: ServerContext, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        tools = [Tool(name=name, input_schema={"type": "object"}) for name in ("touch", "hang_up")]
        return ListToolsResult(tools=tools)

    async def call_tool(ctx: ServerContext, params: CallToolRequestParams) -> CallToolResult:
        if params.name == "hang_up":
            listens.close()
        else:
            await bus.publish(ResourceUpdated(uri=URI))
            for session in sessions:
                await session.send_resource_updated(URI)
        session = ctx.request.headers.get("mcp-session-id", "") if ctx.request else ""
        return CallToolResult(content=[TextContent(type="text", text=session)])

    async def subscribe(ctx: ServerContext, params: SubscribeRequestParams) -> EmptyResult:
        sessions.append(ctx.session)
        return EmptyResult()

    async def unsubscribe(ctx: ServerContext, params: UnsubscribeRequestParams) -> EmptyResult:
        sessions.remove(ctx.session)
        return EmptyResult()

    server = Server(
        "changing",
        version="1.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=listens,
    )
    return server.streamable_http_app()
