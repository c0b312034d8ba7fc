"""A legacy client on a modern server: translated both ways."""

from __future__ import annotations

from typing import Any

import pytest

from relay.core.events import Failure
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    DISCOVERED,
    INTRODUCTION,
    MODERN,
    PREFIX,
    STREAM,
    Json,
    bridged,
    error,
    notification,
    on_modern,
    result,
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
            "tools": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
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


def test_extensions_pass_except_tasks() -> None:
    extensions = {PREFIX + "tasks": {}, "vendor/x": {"a": 1}}
    discovered = {**DISCOVERED, "capabilities": {"extensions": extensions, "tools": 7}}
    assert initialized(discovered)["capabilities"] == {
        "extensions": {"vendor/x": {"a": 1}},
        "tools": {"listChanged": False},
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


def test_every_request_bears_who_asks_and_keeps_its_own_meta() -> None:
    introduction = {
        **INTRODUCTION,
        "capabilities": {
            "roots": {},
            "sampling": {},
            "elicitation": {},
            "tasks": {},
            "experimental": {"x": {}},
            "extensions": {PREFIX + "tasks": {}, "vendor/y": {}},
        },
    }
    rig = bridged(introduction)
    rig.line(
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","arguments":'
        b'{"n":1.10},"task":{"ttl":1},"_meta":{"progressToken":"p","vendor":[1]}}}'
    )
    sent = rig.got_one()
    assert b'"arguments":{"n":1.10}' in sent.raw
    assert sent.body["params"] == {
        "name": "t",
        "arguments": {"n": 1.1},
        "_meta": {
            "progressToken": "p",
            "vendor": [1],
            PREFIX + "protocolVersion": MODERN,
            PREFIX + "clientInfo": {"name": "desk", "version": "2"},
            PREFIX + "clientCapabilities": {
                "experimental": {"x": {}},
                "extensions": {"vendor/y": {}},
            },
        },
    }
    assert sent.headers["Mcp-Method"] == "tools/call"
    assert sent.headers["Mcp-Name"] == "t"
    assert sent.headers["MCP-Protocol-Version"] == MODERN


def test_a_client_that_never_introduced_itself_is_the_relay() -> None:
    rig = on_modern()
    rig.ask(1, "tools/list")
    meta = rig.got_one().body["params"]["_meta"]
    assert meta[PREFIX + "clientInfo"]["name"] == "canferry-relay"
    assert meta[PREFIX + "clientCapabilities"] == {}


def test_a_careless_introduction_is_tolerated() -> None:
    rig = on_modern()
    rig.ask(0, "initialize")
    assert rig.told_one()["result"]["protocolVersion"] == "2025-11-25"
    rig.ask(1, "initialize", {"clientInfo": 7, "capabilities": 7, "protocolVersion": 7})
    assert rig.told_one()["result"]["protocolVersion"] == "2025-11-25"


def test_ping_is_answered_here() -> None:
    rig = bridged()
    rig.ask(1, "ping")
    assert rig.told_one() == result(1, {})
    assert rig.got() == []


def test_a_log_level_is_kept_and_stamped_on_later_requests() -> None:
    rig = bridged()
    rig.ask(1, "logging/setLevel", {"level": "warning"})
    assert rig.told_one() == result(1, {})
    rig.ask(2, "tools/list")
    assert rig.got_one().body["params"]["_meta"][PREFIX + "logLevel"] == "warning"


@pytest.mark.parametrize("params", [{"level": "loud"}, {"level": 7}, {}, None])
def test_an_unknown_log_level_is_refused(params: Json | None) -> None:
    rig = bridged()
    rig.ask(1, "logging/setLevel", params)
    assert rig.told_one()["error"]["code"] == -32602


@pytest.mark.parametrize(
    "method",
    ["resources/subscribe", "resources/unsubscribe", "tasks/get", "tasks/list", "server/discover"],
)
def test_what_is_not_offered_is_refused_here(method: str) -> None:
    rig = bridged()
    rig.ask(1, method, {"uri": "x:y"})
    assert rig.told_one()["error"]["code"] == -32601
    assert rig.got() == []


def test_params_that_are_no_object_are_refused() -> None:
    rig = bridged()
    rig.line(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}')
    assert rig.told_one()["error"]["code"] == -32602


@pytest.mark.parametrize(
    "method",
    ["notifications/initialized", "notifications/roots/list_changed", "notifications/progress"],
)
def test_notifications_that_the_server_no_longer_knows_end_here(method: str) -> None:
    rig = bridged()
    rig.say(notification(method))
    assert rig.got() == []


def test_a_vendors_messages_go_up_with_an_envelope() -> None:
    rig = bridged()
    rig.say(notification("vendor/hint", {"a": 1}))
    rig.ask(1, "vendor/do", {"b": 2})
    hint, do = rig.got()
    assert hint.body["params"]["a"] == 1
    assert hint.body["params"]["_meta"][PREFIX + "protocolVersion"] == MODERN
    assert hint.headers["Mcp-Method"] == "vendor/hint"
    rig.reply(hint, status=202, headers={})
    rig.succeed(do, {"c": 3, "resultType": "complete"})
    assert rig.told_one() == result(1, {"c": 3})


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


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (
            {"a": {"method": "elicitation/create"}, "b": {"method": "roots/list"}},
            "elicitation/create, roots/list",
        ),
        ({"a": 7}, "?"),
        (None, "a repetition"),
    ],
)
def test_a_server_that_wants_input_is_an_error_that_says_what_it_wants(
    asked: Any, named: str
) -> None:
    value = {"resultType": "input_required", "inputRequests": asked, "requestState": "secret"}
    told = answered("tools/call", value, {"name": "t"})["error"]
    assert told["code"] == -32603
    assert named in told["message"]
    assert "secret" not in str(told)


def test_notifications_on_the_way_lose_what_is_modern() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t", "_meta": {"progressToken": 1}})
    call = rig.got_one()
    rig.head(call, 200, STREAM)
    subscription = {PREFIX + "subscriptionId": 1}
    rig.body(call, notification("notifications/progress", {"progressToken": 1, "progress": 1}))
    rig.body(call, notification("notifications/tools/list_changed", {"_meta": subscription}))
    rig.body(call, notification("notifications/message", {"_meta": {**subscription, "x": 1}}))
    rig.body(call, notification("notifications/subscriptions/acknowledged"))
    rig.body(call, notification("notifications/tasks"))
    rig.body(call, {"jsonrpc": "2.0", "method": "notifications/bare"})
    assert rig.told() == [
        notification("notifications/progress", {"progressToken": 1, "progress": 1}),
        notification("notifications/tools/list_changed", {}),
        notification("notifications/message", {"_meta": {"x": 1}}),
        {"jsonrpc": "2.0", "method": "notifications/bare"},
    ]


def test_an_error_of_the_server_passes_with_the_clients_id() -> None:
    rig = bridged()
    rig.ask("a", "resources/read", {"uri": "x:y"})
    sent = rig.got_one()
    assert sent.headers["Mcp-Name"] == "x:y"
    rig.reply(sent, error(None, -32602, "Unknown resource", {"uri": "x:y"}), 400)
    assert rig.told_one() == error("a", -32602, "Unknown resource", {"uri": "x:y"})


def test_cancelling_closes_the_exchange() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t"})
    call = rig.got_one()
    rig.cancel(1)
    assert rig.aborted == [call.exchange]
    assert (rig.got(), rig.told()) == ([], [])


def test_annotated_arguments_are_mirrored_for_a_legacy_client_too() -> None:
    rig = bridged()
    schema = {"properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}
    illegal = {"properties": {"r": {"type": "number", "x-mcp-header": "R"}}}
    rig.ask(1, "tools/list")
    tools = [{"name": "t", "inputSchema": schema}, {"name": "bad", "inputSchema": illegal}]
    rig.succeed(rig.got_one(), {"tools": tools, "resultType": "complete"})
    assert rig.told_one()["result"] == {"tools": [{"name": "t", "inputSchema": schema}]}
    assert "'bad' is hidden" in rig.notices[-1]
    rig.ask(2, "tools/call", {"name": "t", "arguments": {"r": "é"}})
    assert rig.got_one().headers["Mcp-Param-Region"] == "=?base64?w6k=?="


def test_a_forced_modern_era_discovers_when_the_client_initializes() -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask("init", "initialize", INTRODUCTION)
    discover = rig.got_one()
    assert discover.headers["Mcp-Method"] == "server/discover"
    assert discover.body["id"] == "init"
    assert set(discover.body["params"]) == {"_meta"}
    assert discover.body["params"]["_meta"][PREFIX + "clientInfo"]["name"] == "desk"
    rig.cancel("init")
    rig.succeed(discover, DISCOVERED)
    assert rig.told_one()["result"]["serverInfo"]["name"] == "truck"


@pytest.mark.parametrize("value", [{}, 7, {"supportedVersions": ["2031-01-01", 7]}])
def test_a_forced_modern_era_tells_a_server_that_is_not(value: Any) -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), value)
    assert "no protocol revision" in rig.told_one()["error"]["message"]
    rig.ask(1, "initialize", INTRODUCTION)
    rig.fail(rig.got_one(), Failure.CONNECT)
    assert rig.told_one()["error"]["data"]["failure"] == "connect"
