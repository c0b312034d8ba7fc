"""The MCP SDK's own client over stdio, through the relay, in every mode it knows."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult, TextContent

from tests_integration.harness.sdk_client import relay
from tests_integration.harness.servers import Server
from tests_integration.manifest import requirement

INSTRUCTIONS = "A server nobody here wrote."
MODES = ("auto", "legacy", "2026-07-28")


def envelope(result: CallToolResult) -> dict[str, Any]:
    """The envelope in a tool result's one text item."""
    [item] = result.content
    assert isinstance(item, TextContent)
    parsed: dict[str, Any] = json.loads(item.text)
    return parsed


@requirement("service.calls")
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_lists_calls_and_is_refused_through_the_relay(
    rig: Server, mode: str
) -> None:
    with anyio.fail_after(30):
        async with Client(relay(rig.url), mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {"bus_status", "capture", "decode", "send"} <= tools
            status = await client.call_tool("bus_status", {})
            refused = await client.call_tool(
                "send",
                {
                    "interface": "truck",
                    "frame_id": "0x123",
                    "data": "00",
                    "ack_active": True,
                    "dry_run": False,
                },
            )
    assert not status.is_error
    assert status.structured_content == envelope(status)
    assert {bus["name"] for bus in envelope(status)["data"]["buses"]} == {"powertrain", "truck"}
    assert refused.is_error
    assert envelope(refused)["errors"][0]["code"] == "TRANSMIT_NOT_ARMED"


@requirement("call.transparent")
@pytest.mark.smoke
@pytest.mark.parametrize("mode", MODES)
async def test_the_relay_serves_a_reference_server_as_the_server_itself_would(
    reference: Server, mode: str
) -> None:
    with anyio.fail_after(30):
        async with Client(relay(reference.url), mode=mode) as client:
            assert {"add", "count"} <= {tool.name for tool in (await client.list_tools()).tools}
            total = await client.call_tool("add", {"a": 2, "b": 3})
            failed = await client.call_tool("fail", {})
            resource = await client.read_resource("note://one")
            with pytest.raises(MCPError):
                await client.read_resource("note://missing")
            # A client pinned to one revision asks no server who it is.
            introduced = client.instructions if mode != "2026-07-28" else INSTRUCTIONS
    assert introduced == INSTRUCTIONS
    assert total.structured_content == {"result": 5}
    assert failed.is_error
    assert "世界" in resource.model_dump_json()


@requirement("call.progress")
@pytest.mark.smoke
@pytest.mark.parametrize("mode", MODES)
async def test_progress_arrives_while_the_call_runs(reference: Server, mode: str) -> None:
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    with anyio.fail_after(30):
        async with Client(relay(reference.url), mode=mode) as client:
            result = await client.call_tool("count", {"steps": 5}, progress_callback=on_progress)
    assert not result.is_error
    assert seen == [1, 2, 3, 4, 5]


@requirement("calls.sixty-four")
@pytest.mark.parametrize("mode", MODES)
async def test_sixty_three_calls_finish_while_one_sleeps(rig: Server, mode: str) -> None:
    """Order of completion, not time: the sleeper was asked first and is cancelled unanswered."""
    finished: list[int] = []

    async def call(client: Client, number: int) -> None:
        result = await client.call_tool("config_show", {})
        assert not result.is_error
        finished.append(number)

    with anyio.fail_after(60):
        async with (
            Client(relay(rig.url), mode=mode) as client,
            anyio.create_task_group() as sleeper,
        ):
            # Nothing sends this identifier, so the call only ends by its own 20 seconds.
            sleeper.start_soon(
                client.call_tool,
                "capture",
                {"interface": "powertrain", "seconds": 20, "expression": "id == 0x7FF"},
            )
            async with anyio.create_task_group() as others:
                for number in range(63):
                    others.start_soon(call, client, number)
            assert sorted(finished) == list(range(63))
            sleeper.cancel_scope.cancel()
