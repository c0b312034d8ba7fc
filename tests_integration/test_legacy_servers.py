"""Servers of the older revisions as their own clients see them, and as 2026-07-28's do."""

from __future__ import annotations

import json

from tests_integration.harness.changes import on_changing_servers
from tests_integration.harness.pairings import (
    LEGACY_SERVERS,
    client_of,
    on_legacy_sdk_servers,
    on_servers,
    text_of,
    with_both_clients,
)
from tests_integration.harness.peers import on
from tests_integration.harness.questions import ABLE, converse
from tests_integration.harness.servers import Peer
from tests_integration.harness.stage import Stage, logged
from tests_integration.harness.stdio_client import META, MODERN, Json, ModernClient, StdioClient
from tests_integration.manifest import requirement
from tests_integration.peers.calls import from_level

on_all_legacy_servers = on_servers("kind", *LEGACY_SERVERS, ("everything", "legacy"))
on_servers_of_http_sse = on("mcp-2.3", "mcp-1")

CACHEABLE = {"resultType", "ttlMs", "cacheScope", "_meta"}
"""What 2026-07-28 has added to the results that a client may keep."""

FOUND_LEGACY = "INFO relay.core: protocol era: legacy (auto-detected)"


# -- the probe --


@requirement("era.probe-legacy")
@on_all_legacy_servers
def test_the_probe_classifies_a_server_of_older_revisions_as_legacy(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.legacy(stage.server(peer, kind))
    assert client.request("tools/list")["tools"]
    code, stderr = stage.end(client)
    assert (code, logged(stderr)) == (0, [FOUND_LEGACY])


@requirement("era.probe-legacy")
@on_all_legacy_servers
def test_a_client_of_both_eras_is_told_to_begin_with_the_handshake(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.unopened(stage.server(peer, kind))
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    refused = client.error(client.start("server/discover", {"_meta": meta}))
    assert (refused["code"], "initialize" in refused["data"]["hint"]) == (-32601, True)
    assert client.initialize(version="2025-11-25")["protocolVersion"] == "2025-11-25"
    assert client.request("tools/list").keys() == {"tools"}
    assert client.request("ping") == {}


# -- as from the server itself --


@requirement("call.transparent")
@with_both_clients
@on_legacy_sdk_servers
def test_list_call_failure_resource_and_prompt_arrive_as_the_server_gives_them(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer, kind))
    tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
    assert tools["add"]["description"] == "Add two integers."
    assert tools["add"]["inputSchema"]["required"] == ["a", "b"]
    assert client.call("add", a=2, b=3)["structuredContent"] == {"result": 5}
    for failed in (client.call("fail"), client.call("nobody"), client.call("add", a="two")):
        assert failed["isError"]
    [note] = client.request("resources/read", {"uri": "note://one"})["contents"]
    assert (note["text"], note["mimeType"]) == ("grüße, 世界", "text/plain")
    missing = client.error(client.start("resources/read", {"uri": "note://missing"}))
    assert "note://missing" in missing["message"]
    letter = client.request("prompts/get", {"name": "letter", "arguments": {"to": "Ann"}})
    assert letter["messages"][0]["content"] == {"type": "text", "text": "Dear Ann,"}
    assert client.process.lines.left() == []


@requirement("call.progress")
@with_both_clients
@on_legacy_sdk_servers
def test_progress_of_a_legacy_server_arrives_under_the_token_of_the_client(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer, kind))
    for token in ("grüße", 7):
        assert text_of(client.call("count", {"progressToken": token}, steps=3)) == "counted to 3"
        heard = [client.told("notifications/progress")["params"] for _ in range(3)]
        assert [(each["progressToken"], each["progress"]) for each in heard] == [
            (token, step) for step in (1, 2, 3)
        ]
    assert client.process.lines.left() == []


# -- what 2026-07-28 has and they have not --


@requirement("call.modern-to-legacy")
@on_all_legacy_servers
def test_a_client_that_asks_again_is_told_of_an_older_server_in_the_words_of_2026_07_28(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server = stage.server(peer, kind)
    initialized = stage.legacy(server).initialize()
    client = stage.modern(server)
    assert client.error(client.start("server/discover"))["code"] == -32601
    discovered = client.discover()
    capabilities = {**initialized["capabilities"]}
    capabilities.pop("tasks", None)  # those of 2025-11-25 are not those of 2026-07-28
    assert discovered == {
        "supportedVersions": [MODERN],
        "capabilities": capabilities,
        "instructions": initialized["instructions"],
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {META + "serverInfo": initialized["serverInfo"]},
    }


@requirement("call.modern-to-legacy")
@on_legacy_sdk_servers
def test_results_of_an_older_server_are_made_what_a_modern_client_expects(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.modern(stage.server(peer, kind))
    cacheable: Json = {
        "tools/list": {},
        "prompts/list": {},
        "resources/list": {},
        "resources/templates/list": {},
        "resources/read": {"uri": "note://one"},
    }
    for method, params in cacheable.items():
        result = client.request(method, params)
        assert result.keys() > CACHEABLE, method
        assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == (
            "complete",
            0,
            "private",
        )
    letter: Json = {"name": "letter", "arguments": {"to": "Ann"}}
    for result in (client.call("add", a=2, b=3), client.request("prompts/get", letter)):
        assert result["resultType"] == "complete"
        assert not {"ttlMs", "cacheScope"} & result.keys()
        assert result["_meta"][META + "serverInfo"]["name"] == "reference"


@requirement("call.modern-to-legacy")
@on_legacy_sdk_servers
def test_an_older_server_is_not_sent_what_2026_07_28_has_added(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.modern(stage.server(peer, kind))
    seen = json.loads(text_of(client.call("reveal", {"vendor.example/key": [1, {"a": None}]})))
    meta = {key: value for key, value in seen["meta"].items() if value is not None}
    assert meta == {"vendor.example/key": [1, {"a": None}]}
    assert seen["headers"]["mcp-protocol-version"] == "2025-11-25"
    assert seen["headers"]["mcp-session-id"]
    assert not {"mcp-method", "mcp-name"} & seen["headers"].keys()


@requirement("call.modern-to-legacy")
@on_all_legacy_servers
def test_errors_that_are_2026_07_28s_own_come_from_the_relay(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.modern(stage.server(peer, kind))
    for removed in ("ping", "logging/setLevel", "resources/subscribe", "tasks/list"):
        assert client.error(client.start(removed))["code"] == -32601
    future = client.error(client.start("tools/list", {"_meta": {META + "protocolVersion": "2999"}}))
    assert future["code"] == -32022
    assert future["data"] == {"supported": [MODERN], "requested": "2999"}
    bare = {META + "clientCapabilities": None}
    incomplete = client.error(client.start("tools/list", {"_meta": bare}))
    assert (incomplete["code"], "clientCapabilities" in incomplete["message"]) == (-32602, True)


# -- log messages --


def levels_told(client: StdioClient) -> list[str]:
    """The levels of the log messages that have come, in order; nothing else has."""
    heard = [json.loads(line) for line in client.process.lines.left()]
    client.process.lines.forget()
    assert {message["method"] for message in heard} <= {"notifications/message"}
    return [message["params"]["level"] for message in heard]


@requirement("call.log-level")
@with_both_clients
@on_changing_servers
def test_log_messages_of_a_call_come_at_the_level_that_the_client_has_asked_for(
    stage: Stage, peer: Peer, server_era: str, client_era: str
) -> None:
    server = stage.server(peer, "changing")
    client = client_of(stage, client_era, server, "--protocol-era", server_era)
    for level in ("warning", "emergency", "debug"):
        log_at(client, level)
        assert levels_told(client) == list(from_level(level))
    if isinstance(client, ModernClient):
        client.call("log")
        assert levels_told(client) == []


def log_at(client: StdioClient, level: str) -> None:
    """Have the server log one message of each level."""
    if isinstance(client, ModernClient):
        client.call("log", {META + "logLevel": level})
        return
    assert client.request("logging/setLevel", {"level": level}) == {}
    client.call("log")


# -- HTTP+SSE --


@requirement("transport.http-sse")
@with_both_clients
@on_servers_of_http_sse
def test_a_server_of_http_with_sse_is_called_and_asks(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer, "sse"), capabilities=ABLE)
    assert text_of(client.call("count", {"progressToken": "mine"}, steps=2)) == "counted to 2"
    for step in (1, 2):
        heard = client.told("notifications/progress")["params"]
        assert (heard["progressToken"], heard["progress"]) == ("mine", step)
    assert text_of(converse(client, "interview")) == "Ann 30 word file:///truck"
    assert client.process.lines.left() == []
    assert "HTTP+SSE of 2024-11-05" in stage.end(client)[1]
