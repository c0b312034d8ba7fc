"""What a 2026-07-28 server says, as a client of an older revision hears it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relay.core.rig import (
    DISCOVERED,
    INTRODUCTION,
    MODERN,
    PREFIX,
    STREAM,
    Json,
    bridged,
    notification,
    started,
)


def answered(method: str, value: Any, params: Json | None = None) -> Json:
    """What the client is told when the server answers ``value``."""
    rig = bridged()
    rig.ask(1, method, params)
    rig.succeed(rig.got_one(), value)
    return rig.told_one()


def initialized(discovered: Json, version: Any = "2025-11-25") -> Json:
    rig = started()
    rig.succeed(rig.got_one(), discovered)
    rig.ask(0, "initialize", {**INTRODUCTION, "protocolVersion": version})
    return dict(rig.told_one()["result"])


def test_initialize_is_answered_from_what_discover_told() -> None:
    assert initialized(DISCOVERED) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "logging": {},
            "completions": {},
        },
        "serverInfo": {"name": "truck", "version": "9"},
        "instructions": "drive carefully",
    }


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2031-01-01", "2025-11-25"),
        (MODERN, "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_the_client_gets_the_revision_it_asked_for_if_it_is_a_legacy_one(
    asked: Any, given: str
) -> None:
    assert initialized(DISCOVERED, asked)["protocolVersion"] == given


def test_completions_are_unknown_to_the_oldest_revision() -> None:
    assert "completions" not in initialized(DISCOVERED, "2024-11-05")["capabilities"]


@pytest.mark.obligation(45)
def test_capabilities_pass_except_tasks() -> None:
    extensions = {PREFIX + "tasks": {}, "vendor/x": {"a": 1}}
    offered = {"extensions": extensions, "tools": {"listChanged": False}, "tasks": {}, "new": 7}
    assert initialized({**DISCOVERED, "capabilities": offered})["capabilities"] == {
        "extensions": {"vendor/x": {"a": 1}},
        "tools": {"listChanged": False},
        "new": 7,
    }


@pytest.mark.parametrize("meta", [{}, {PREFIX + "serverInfo": {}}, {PREFIX + "serverInfo": 7}])
def test_a_server_without_a_name_goes_by_its_host(meta: Json) -> None:
    rig = started(server_name="rig.example")
    discovered = {"supportedVersions": [MODERN], "capabilities": {}, "_meta": meta}
    rig.succeed(rig.got_one(), discovered)
    rig.ask(0, "initialize", INTRODUCTION)
    initialize = rig.told_one()["result"]
    assert initialize["serverInfo"] == {"name": "rig.example", "version": ""}
    assert "instructions" not in initialize


def test_modern_members_are_taken_off_a_result() -> None:
    value = {
        "resources": [],
        "n": 1,
        "resultType": "complete",
        "ttlMs": 5,
        "cacheScope": "private",
        "_meta": {PREFIX + "serverInfo": {}, "vendor": 1},
    }
    assert answered("resources/list", value)["result"] == {
        "resources": [],
        "n": 1,
        "_meta": {"vendor": 1},
    }
    only_info = {"prompts": [], "_meta": {PREFIX + "serverInfo": {}}}
    assert answered("prompts/list", only_info)["result"] == {"prompts": []}


def test_an_output_schema_that_describes_no_object_is_taken_off_its_tool() -> None:
    listed = {
        "tools": [
            {"name": "a", "inputSchema": {}, "outputSchema": {"type": "object"}},
            {"name": "b", "inputSchema": {}, "outputSchema": {"type": "array"}},
            {"name": "c", "inputSchema": {}, "outputSchema": {}},
            {"name": "d", "inputSchema": {}},
            7,
        ],
        "nextCursor": "",
    }
    assert answered("tools/list", listed)["result"] == {
        "tools": [listed["tools"][0], *({"name": name, "inputSchema": {}} for name in "bcd"), 7],
        "nextCursor": "",
    }


def test_structured_content_that_is_no_object_becomes_text() -> None:
    text = {"type": "text", "text": "3"}
    image = {"type": "image", "data": ""}
    cases: list[tuple[Json, Json]] = [
        ({"content": [text], "structuredContent": [1, "é"]}, {"content": [text]}),
        (
            {"content": [image], "structuredContent": [1, "é"]},
            {"content": [image, {"type": "text", "text": '[1,"é"]'}]},
        ),
        ({"structuredContent": 7}, {"content": [{"type": "text", "text": "7"}]}),
        ({"content": [], "structuredContent": {}}, {"content": [], "structuredContent": {}}),
    ]
    for value, expected in cases:
        assert answered("tools/call", value, {"name": "t"})["result"] == expected


@pytest.mark.parametrize("kind", ["task", "new-kind", 7, None])
def test_an_unknown_result_type_is_an_error(kind: Any) -> None:
    told = answered("tools/call", {"resultType": kind}, {"name": "t"})["error"]
    assert told["code"] == -32603
    assert "resultType" in told["message"]


@pytest.mark.parametrize("value", [7, [], "x", None])
def test_a_result_that_is_no_object_is_an_error(value: Any) -> None:
    assert answered("tools/list", value)["error"]["code"] == -32603


def told_in(revision: str, method: str, value: Json) -> Any:
    """What a client of a revision is told when the server answers ``value``."""
    rig = bridged({**INTRODUCTION, "protocolVersion": revision})
    rig.ask(1, method, {"name": "t"})
    rig.succeed(rig.got_one(), value)
    return rig.told_one()["result"]


@pytest.mark.parametrize(
    ("revision", "kept"),
    [
        ("2024-11-05", ["text", "text", "text", "text", "image"]),
        ("2025-03-26", ["audio", "audio", "text", "text", "image"]),
        ("2025-06-18", ["audio", "audio", "resource_link", "resource_link", "image"]),
        ("2025-11-25", ["audio", "audio", "resource_link", "resource_link", "image"]),
    ],
)
def test_content_that_a_revision_does_not_know_becomes_text(revision: str, kept: list[str]) -> None:
    blocks: list[Json] = [
        {"type": "audio", "data": "", "mimeType": "audio/wav"},
        {"type": "audio", "data": ""},
        {"type": "resource_link", "uri": "x:y", "name": "map"},
        {"type": "resource_link", "uri": "x:y", "name": "map", "description": "of the town"},
        {"type": "image", "data": ""},
    ]
    called = told_in(revision, "tools/call", {"content": [*blocks, 7, {"type": 7}]})["content"]
    assert [block["type"] for block in called[:-2]] == kept
    assert called[-2:] == [7, {"type": 7}]
    asked = [{"role": "user", "content": block} for block in blocks]
    got = told_in(revision, "prompts/get", {"messages": [*asked, 7, {"role": "user"}]})["messages"]
    assert [message["content"] for message in got[:-2]] == called[:-2]
    assert got[-2:] == [7, {"role": "user"}]
    texts = [block["text"] for block in called[:-2] if block["type"] == "text"]
    expected = ["[audio, audio/wav]", "[audio, of no named type]"]
    expected += ["map - x:y", "map - of the town - x:y"]
    assert texts == expected[len(expected) - len(texts) :]


def test_a_tool_result_without_content_stays_without() -> None:
    assert told_in("2024-11-05", "tools/call", {"isError": True}) == {"isError": True}
    assert told_in("2024-11-05", "resources/read", {"contents": []}) == {"contents": []}


def test_notifications_on_the_way_lose_what_is_modern() -> None:
    rig = bridged()
    rig.ask(0, "logging/setLevel", {"level": "info"})
    rig.ask(1, "tools/call", {"name": "t", "_meta": {"progressToken": 1}})
    rig.told()
    call = rig.got_one()
    rig.head(call, 200, STREAM)
    subscription = {PREFIX + "subscriptionId": 1}
    rig.body(call, notification("notifications/progress", {"progressToken": 1, "progress": 1}))
    rig.body(call, notification("notifications/tools/list_changed", {"_meta": subscription}))
    rig.body(call, notification("notifications/message", {"_meta": {**subscription, "x": 1}}))
    rig.body(call, notification("notifications/subscriptions/acknowledged"))
    rig.body(call, notification("notifications/tasks"))
    rig.body(call, notification("notifications/cancelled", {"requestId": "canferry-1"}))
    rig.body(call, {"jsonrpc": "2.0", "method": "notifications/bare"})
    assert rig.told() == [
        notification("notifications/progress", {"progressToken": 1, "progress": 1}),
        notification("notifications/tools/list_changed", {}),
        notification("notifications/message", {"_meta": {"x": 1}}),
        {"jsonrpc": "2.0", "method": "notifications/bare"},
    ]
