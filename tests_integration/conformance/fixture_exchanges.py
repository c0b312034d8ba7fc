"""Tools that talk with the client during a call: progress, logs, questions, changed lists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ServerEvent,
    ToolsListChanged,
)

from tests_integration.conformance.fixture_tools import Call, Context, Tools, answer, text

Schema = dict[str, Any]

DEFAULTS: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
}
"""A default of every type a form may ask for."""

PLAIN = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
ENUMS: Schema = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": PLAIN},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": PLAIN, "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}
"""Every way to offer a choice."""

PERSON: Schema = {
    "type": "object",
    "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
    "required": ["username", "email"],
}

CONDITIONS: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "address", "type": "object"}},
    "properties": {
        "address": {"$ref": "#/$defs/address"},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"required": ["address"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""The keywords of JSON Schema 2020-12 that a list must not lose."""


async def test_tool_with_progress(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Report progress three times."""
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
    return answer(text("Done."))


async def log_three_times(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    for words in ("started", "processing", "completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
    return answer(text("Logged."))


async def test_sampling(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Ask the client's model."""
    prompt = str((params.arguments or {}).get("prompt", ""))
    message = types.SamplingMessage(role="user", content=text(prompt))
    said = await context.session.create_message(
        [message], max_tokens=100, related_request_id=context.request_id
    )
    return answer(text(f"LLM response: {said.content}"))


def _eliciting(schema: Schema) -> Call:
    async def elicit(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        message = str((params.arguments or {}).get("message", "Please fill in"))
        said = await context.session.elicit_form(message, schema, context.request_id)
        return answer(text(f"action={said.action}, content={json.dumps(said.content)}"))

    return elicit


async def test_reconnection(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Close the stream of this call where the client could come back for the rest."""
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    return answer(text("Still here."))


async def json_schema_2020_12_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    return answer(text("Its schema is what counts."))


async def accept_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def accept_subscription(
    context: Context, params: types.SubscribeRequestParams | types.UnsubscribeRequestParams
) -> types.EmptyResult:
    """No resource here ever changes."""
    return types.EmptyResult()


def _publishing(bus: InMemorySubscriptionBus, event: ServerEvent) -> Call:
    async def publish(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        await bus.publish(event)
        return answer(text("Told."))

    return publish


def add_exchanges(tools: Tools, server: Server[dict[str, Any]]) -> None:
    """The tools, and the requests by which a client prepares for what they send."""
    bus = InMemorySubscriptionBus()
    words = {"type": "string"}
    tools.tool(test_tool_with_progress)
    tools.tool(test_reconnection)
    rows: Sequence[tuple[str, str, Call, Schema]] = (
        ("test_tool_with_logging", "Log three times.", log_three_times, {}),
        ("test_logging_tool", "Log three times.", log_three_times, {}),
        ("test_sampling", "Ask the client's model.", test_sampling, {"prompt": words}),
        ("test_elicitation", "Ask the user.", _eliciting(PERSON), {"message": words}),
        ("test_elicitation_sep1034_defaults", "Ask with defaults.", _eliciting(DEFAULTS), {}),
        ("test_elicitation_sep1330_enums", "Ask with choices.", _eliciting(ENUMS), {}),
        ("test_trigger_tool_change", "Tell it.", _publishing(bus, ToolsListChanged()), {}),
        ("test_trigger_prompt_change", "Tell it.", _publishing(bus, PromptsListChanged()), {}),
    )
    for name, description, call, properties in rows:
        tools.add(name, description, call, {"type": "object", "properties": properties})
    tools.add("json_schema_2020_12_tool", "A rich schema.", json_schema_2020_12_tool, CONDITIONS)
    subscribe, unsubscribe = types.SubscribeRequestParams, types.UnsubscribeRequestParams
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept_level)
    server.add_request_handler("resources/subscribe", subscribe, accept_subscription)
    server.add_request_handler("resources/unsubscribe", unsubscribe, accept_subscription)
    server.add_request_handler(
        "subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(bus)
    )
