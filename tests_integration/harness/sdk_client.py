"""The MCP SDK's client behind the relay, with a user, a model and roots of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import anyio
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.servers import Server
from tests_integration.harness.stdio_client import RELAY

SECONDS = 60.0
"""What one test may take at most, on a machine that does much else."""

ANSWERS: dict[str, str | int | float | bool | list[str] | None] = {"name": "Ann", "age": 30}


def relay(url: str, *options: str) -> StdioServerParameters:
    """How an ordinary stdio client starts the relay against ``url``."""
    return StdioServerParameters(command=RELAY[0], args=[*RELAY[1:], url, *options])


@dataclass(frozen=True)
class Pairing:
    """Who talks to whom: the mode of the SDK's client, and the era that the relay speaks up."""

    mode: str
    era: str

    def __str__(self) -> str:
        return f"{self.mode}-{self.era}"


PAIRINGS = [
    Pairing("legacy", "legacy"),
    Pairing("legacy", "modern"),
    Pairing("2026-07-28", "legacy"),
    Pairing("2026-07-28", "modern"),
]


def client(server: Server, pairing: Pairing, *options: str) -> Client:
    """A client that answers what it is asked."""

    async def user(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        [field] = params.requested_schema["properties"]
        return ElicitResult(action="accept", content={field: ANSWERS[field]})

    async def model(
        context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        word = TextContent(type="text", text="word")
        return CreateMessageResult(role="assistant", content=word, model="m")

    async def roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": "file:///truck"})])

    return Client(
        relay(server.url, "--protocol-era", pairing.era, *options),
        mode=pairing.mode,
        elicitation_callback=user,
        sampling_callback=model,
        list_roots_callback=roots,
    )


def text_of(result: CallToolResult) -> str:
    [item] = result.content
    assert isinstance(item, TextContent)
    return item.text


async def told(server: Server, pattern: str) -> None:
    """Wait until a server has said something."""
    await to_thread.run_sync(
        partial(server.says, pattern, Deadline(SECONDS)), abandon_on_cancel=True
    )


async def cancel_a_call(connected: Client, server: Server, key: str, *, loud: bool) -> None:
    """Have a call started at the server and cancel it."""
    async with anyio.create_task_group() as calls:
        calls.start_soon(connected.call_tool, "hold", {"key": key, "loud": loud})
        await told(server, f"started {key}$")
        calls.cancel_scope.cancel()
