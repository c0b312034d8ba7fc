"""Tools beside those of a registry, for answers that an envelope cannot carry."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server

Context: TypeAlias = ServerRequestContext[dict[str, Any]]
Call: TypeAlias = Callable[
    [Context, types.CallToolRequestParams],
    Awaitable[HandlerResult],
]

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


class Tools:
    """Tools by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._listed: list[types.Tool] = []
        self._calls: dict[str, Call] = {}

    def add(
        self, name: str, description: str, call: Call, schema: dict[str, Any] = NO_ARGUMENTS
    ) -> None:
        self._listed.append(types.Tool(name=name, description=description, input_schema=schema))
        self._calls[name] = call

    def tool(self, call: Call) -> Call:
        """Add a function without arguments of its own, under its own name."""
        self.add(call.__name__, inspect.getdoc(call) or "", call)
        return call

    def beside(self, server: Server[dict[str, Any]]) -> None:
        """List and call these after what the server has already."""
        first_list = server.get_request_handler("tools/list")
        first_call = server.get_request_handler("tools/call")
        assert first_list and first_call

        async def list_tools(
            context: Context, params: types.PaginatedRequestParams
        ) -> types.ListToolsResult:
            listed = await first_list.handler(context, params)
            assert isinstance(listed, types.ListToolsResult)
            return listed.model_copy(update={"tools": [*listed.tools, *self._listed]})

        async def call_tool(context: Context, params: types.CallToolRequestParams) -> HandlerResult:
            if params.name in self._calls:
                return await self._calls[params.name](context, params)
            return await first_call.handler(context, params)

        server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
        server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def answer(*content: types.ContentBlock) -> types.CallToolResult:
    return types.CallToolResult(content=list(content))
