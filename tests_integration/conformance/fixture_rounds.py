"""Requests answered in rounds: the server asks, and the client calls again with the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from tests_integration.conformance.fixture_tools import Call, Context, Tools, answer, text

CAPABILITIES: Mapping[str, types.ClientCapabilities] = {
    "elicitation/create": types.ClientCapabilities(elicitation=types.ElicitationCapability()),
    "sampling/createMessage": types.ClientCapabilities(sampling=types.SamplingCapability()),
    "roots/list": types.ClientCapabilities(roots=types.RootsCapability()),
}
"""What a client must have declared to be asked this."""


def elicit(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    """Ask the user for one field."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {field: {"type": kind}},
        "required": [field],
    }
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=params)


def sample(prompt: str) -> types.CreateMessageRequest:
    """Ask the client's model."""
    message = types.SamplingMessage(role="user", content=text(prompt))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    return types.CreateMessageRequest(params=params)


Round: TypeAlias = Mapping[str, types.InputRequest]

NAME: Round = {"user_name": elicit("What is your name?", "name")}
CAPITAL: Round = {"capital_question": sample("What is the capital of France?")}
ROOTS: Round = {"client_roots": types.ListRootsRequest()}
CONFIRM: Round = {"confirm": elicit("Please confirm", "ok", "boolean")}
COLOR: Round = {"step2": elicit("What is your favorite color?", "color")}
CONTEXT: Round = {"user_context": elicit("What context should the prompt use?", "context")}
ALL: Round = {**NAME, **CAPITAL, **ROOTS}


TOOLS: Mapping[str, Sequence[Round]] = {
    "test_input_required_result_elicitation": [NAME],
    "test_input_required_result_sampling": [CAPITAL],
    "test_input_required_result_list_roots": [ROOTS],
    "test_input_required_result_request_state": [CONFIRM],
    "test_input_required_result_tampered_state": [CONFIRM],
    "test_input_required_result_multiple_inputs": [ALL],
    "test_input_required_result_multi_round": [NAME, COLOR],
    "test_missing_capability": [CAPITAL],
    "test_streaming_elicitation": [NAME],
}


def next_round(
    context: Context, params: types.InputResponseRequestParams, rounds: Sequence[Round]
) -> types.InputRequiredResult | None:
    """What has to be asked next; None once every round is answered.

    The state is the number of the round that was asked last.
    """
    number = int(params.request_state or 0)
    answered = set(params.input_responses or {})
    if rounds[number].keys() <= answered:
        number += 1
    if number == len(rounds):
        return None
    for request in rounds[number].values():
        _demand(context, request)
    return types.InputRequiredResult(input_requests=dict(rounds[number]), request_state=str(number))


def _demand(context: Context, request: types.InputRequest) -> None:
    """Errors: MCPError for a client that cannot be asked this."""
    needed = CAPABILITIES[request.method]
    if not context.session.check_client_capability(needed):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"The client cannot be asked for {request.method}",
            {"requiredCapabilities": needed.model_dump(by_alias=True, exclude_none=True)},
        )


def _asking(rounds: Sequence[Round]) -> Call:
    async def ask(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        return next_round(context, params, rounds) or answer(text(_told(params)))

    return ask


def _told(params: types.InputResponseRequestParams) -> str:
    given = params.input_responses or {}
    told = {key: value.model_dump(mode="json", by_alias=True) for key, value in given.items()}
    return f"state-ok {json.dumps(told)}"


async def test_input_required_result_capabilities(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """Ask for all that this client can answer."""
    able = {
        key: request
        for key, request in ALL.items()
        if context.session.check_client_capability(CAPABILITIES[request.method])
    }
    return next_round(context, params, [able]) or answer(text(_told(params)))


async def asking_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    """A prompt that is not given before the user has said what it is about."""
    message = types.PromptMessage(role="user", content=text(_told(params)))
    asked = next_round(context, params, [CONTEXT])
    return asked or types.GetPromptResult(messages=[message])


def add_rounds(tools: Tools, server: Server[dict[str, Any]]) -> None:
    """The tools that ask, and the guard without which a client could change their state."""
    for name, rounds in TOOLS.items():
        tools.add(name, "Ask the client before answering.", _asking(rounds))
    tools.tool(test_input_required_result_capabilities)
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))
