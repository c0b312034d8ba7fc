"""Both clients and the servers of either era, for what holds in every pairing of them."""

from __future__ import annotations

import pytest

from tests_integration.harness.peers import IN_OUR_ENVIRONMENT, on
from tests_integration.harness.servers import Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import Json, LegacyClient, ModernClient, StdioClient

QUIET_SECONDS = 0.2
"""How long nothing may come for a client to be taken for quiet."""

with_both_clients = pytest.mark.parametrize("client_era", ["legacy", "modern"])


def on_servers(what: str, *servers: tuple[str, str]) -> pytest.MarkDecorator:
    """Run a test on each of these peers, as ``peer``, with what its servers are to be."""
    return pytest.mark.parametrize(
        ("peer", what),
        [
            pytest.param(name, each, marks=() if name in IN_OUR_ENVIRONMENT else pytest.mark.matrix)
            for name, each in servers
        ],
        indirect=["peer"],
    )


MODERN_SERVERS = (("mcp-2.3", "dual"), ("mcp-2.0", "dual"))
LEGACY_SERVERS = (("mcp-2.3", "legacy"), ("mcp-2.0", "legacy"), ("mcp-1", "legacy"))

on_modern_releases = on(*(name for name, _ in MODERN_SERVERS))
"""The releases of the SDK that speak 2026-07-28; the test says what its servers are to be."""

on_legacy_sdk_servers = on_servers("kind", *LEGACY_SERVERS)
on_sdk_servers = on_servers("kind", *MODERN_SERVERS, *LEGACY_SERVERS)
"""The servers of each release of the SDK, of either era."""


def client_of(
    stage: Stage, era: str, server: Server, *options: str, capabilities: Json | None = None
) -> LegacyClient | ModernClient:
    """A client of an era, behind a relay with these options."""
    if era == "legacy":
        return stage.legacy(server, *options, capabilities=capabilities)
    return stage.modern(server, *options, capabilities=capabilities)


def text_of(result: Json) -> str:
    """What a tool has answered."""
    [block] = result["content"]
    text: str = block["text"]
    return text


def assert_quiet(client: StdioClient) -> None:
    """Nothing has come that was not taken, and nothing comes."""
    assert client.drain(QUIET_SECONDS) == []


def let_relay_notice(client: StdioClient) -> None:
    """Have the relay see what has become of its connections before it gets the next message.

    What is no message it answers by itself; a connection that it takes for open when it is not
    makes a call that may have been executed.
    """
    client.process.write(b"17\n")
    client.take(lambda message: "error" in message and message["id"] is None)
