"""The registry as an MCP server: one low-level server for every era and both transports."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from service.dispatch import Dispatcher, Outcome
from service.model.caller import LOCAL, Caller
from service.registry import Tool

INSTRUCTIONS = """\
canferry works on the CAN buses of a vehicle rig and on recorded captures. \
Start with bus_status; `interface` is a bus name from there. \
Answers give a summary first; page through rows with `limit` and the `next_cursor` of the answer. \
Frames are candump lines; captures and databases are named, not uploaded, and `-` (stdin) is not \
accepted anywhere. \
Sending is a dry run unless dry_run=false, and even then the operator must have armed the bus; \
that cannot be done from here."""


def build_server(
    dispatcher: Dispatcher[Any], *, version: str, structured_content: bool = True
) -> Server[dict[str, Any]]:
    """An MCP server that lists and calls the dispatcher's tools.

    ``structured_content=False`` leaves out output schemas and structured results, for hosts that
    feed both forms of an answer to the model.
    """
    listed = [_listed(tool, structured_content) for tool in dispatcher.registry]
    schemas = {tool.name: tool.input_schema for tool in listed}

    async def list_tools(
        context: ServerRequestContext[dict[str, Any]], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        outcome = await dispatcher.call(params.name, params.arguments or {}, _caller(context))
        return _result(outcome, structured_content)

    return Server(
        "canferry",
        version=version,
        title="canferry: CAN buses of a vehicle rig",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: Tool[Any], structured_content: bool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema if structured_content else None,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.effect.is_read_only,
            # The default is true, and it means nothing for a tool that only reads.
            destructive_hint=None if tool.effect.is_read_only else tool.effect.is_destructive,
            open_world_hint=False,
        ),
    )


def _caller(context: ServerRequestContext[dict[str, Any]]) -> Caller:
    client = context.session.client_params
    return Caller(LOCAL.principal, client.client_info.name if client else "")


def _result(outcome: Outcome, structured_content: bool) -> types.CallToolResult:
    """Schema failures are told in plain words, as every MCP SDK does; the rest is an envelope."""
    if outcome.is_schema_failure:
        return types.CallToolResult(content=[_text(_in_words(outcome))], is_error=True)
    if not structured_content:
        return types.CallToolResult(content=[_text(outcome.text)], is_error=outcome.is_error)
    return types.CallToolResult(
        content=[_text(outcome.text)],
        structured_content=outcome.payload,
        is_error=outcome.is_error,
    )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _in_words(outcome: Outcome) -> str:
    return "Input validation error: " + " ".join(
        f"{error['message']}. {error['hint']}" for error in outcome.errors
    )
