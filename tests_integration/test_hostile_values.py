"""Values that look like options, paths or streams are data, whatever tool they reach."""

from __future__ import annotations

import anyio
import pytest
from mcp import Client
from mcp.types import TextContent

from tests_integration.harness.sdk_client import relay
from tests_integration.harness.servers import Server
from tests_integration.manifest import requirement
from tests_integration.test_sdk_clients import envelope

OPTION_LIKE = ("--help", "-h", "--file=-", "--json", "--version", "-", "../../etc/passwd", "\u0000")


@requirement("service.option-like-values")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_option_like_value_in_any_string_argument_is_data(rig: Server, mode: str) -> None:
    with anyio.fail_after(120):
        async with Client(relay(rig.url), mode=mode) as client:
            for tool in (await client.list_tools()).tools:
                properties = tool.input_schema["properties"]
                strings = [name for name, field in properties.items() if "string" in str(field)]
                filled = {
                    name: "sample"
                    for name in tool.input_schema.get("required", [])
                    if name in strings and properties[name].get("type") == "string"
                }
                for name in strings:
                    for value in OPTION_LIKE:
                        argument = [value] if properties[name].get("type") == "array" else value
                        result = await client.call_tool(tool.name, {**filled, name: argument})
                        [item] = result.content
                        assert isinstance(item, TextContent)
                        assert "usage:" not in item.text
            survivor = await client.call_tool("config_show", {})
    assert envelope(survivor)["ok"]


@requirement("service.unknown-argument")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_unknown_argument_is_refused_by_name(rig: Server, mode: str) -> None:
    with anyio.fail_after(30):
        async with Client(relay(rig.url), mode=mode) as client:
            result = await client.call_tool("config_show", {"bogus": 1})
    [item] = result.content
    assert result.is_error
    assert isinstance(item, TextContent)
    assert "bogus" in item.text
