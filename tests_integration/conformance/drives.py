"""What each scenario of the conformance suite expects a client to do with its server."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests_integration.conformance.hosts import Host, filled
from tests_integration.harness.stdio_client import Json

Drive = Callable[[Host, Json], None]
"""Acts as one scenario wants, given the context that the suite hands to its client."""


def tools_of(host: Host) -> dict[str, Json]:
    """The input schema of each tool that the relay lets through."""
    return {
        tool["name"]: tool["inputSchema"] for tool in host.request("tools/list").get("tools", [])
    }


def list_tools(host: Host, context: Json) -> None:
    tools_of(host)


def call_all_tools(host: Host, context: Json) -> None:
    """Whatever is listed is called: what is not to be called, the relay must not list."""
    for name, schema in tools_of(host).items():
        result = host.call(name, filled(schema))
        assert not result.get("isError"), result


def add_numbers(host: Host, context: Json) -> None:
    list_tools(host, context)
    result = host.call("add_numbers", {"a": 5, "b": 3})
    assert "8" in result["content"][0]["text"], result


def replay_calls(host: Host, context: Json) -> None:
    """The calls that the suite has prepared; a relay mirrors what the listed schemas say."""
    list_tools(host, context)
    for call in context["toolCalls"]:
        host.call(call["name"], call["arguments"])


def echo_schema(host: Host, context: Json) -> None:
    """Give the server its own schema back, as it arrived."""
    schemas = tools_of(host)
    host.call("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


def use_all_features(host: Host, context: Json) -> None:
    call_all_tools(host, context)
    for resource in host.request("resources/list")["resources"]:
        host.request("resources/read", {"uri": resource["uri"]})
    for prompt in host.request("prompts/list")["prompts"]:
        host.request("prompts/get", {"name": prompt["name"]})


def list_skills(host: Host, context: Json) -> None:
    host.request("skills/list")


DRIVES: Mapping[str, Drive] = {
    "initialize": list_tools,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": call_all_tools,
    "sse-retry": call_all_tools,
    "request-metadata": list_tools,
    "sep-2322-client-request-state": call_all_tools,
    "http-standard-headers": use_all_features,
    "http-custom-headers": replay_calls,
    "http-invalid-tool-headers": call_all_tools,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2640-client-no-prefetch": list_skills,
}


def drive_of(scenario: str) -> Drive:
    """Behind any authorization, a client is to list the tools and to call them."""
    return call_all_tools if scenario.startswith("auth/") else DRIVES[scenario]
