"""A legacy client on a modern server: translated both ways."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.events import Failure
from relay.core.messages import parse_client
from relay.core.modern.legacy_client import LegacyClient
from relay.core.session import Options, ProtocolEra
from tests.relay.core.rig import (
    DISCOVERED,
    INITIALIZED,
    INTRODUCTION,
    MODERN,
    PREFIX,
    Json,
    bridged,
    error,
    notification,
    on_modern,
    result,
    started,
)


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
                "roots": {},
                "sampling": {},
                "elicitation": {},
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
    rig.ask(2, "tools/list")
    meta = rig.got_one().body["params"]["_meta"]
    assert meta[PREFIX + "clientInfo"]["name"] == "canferry-relay"


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
    ["tasks/get", "tasks/list", "server/discover", "subscriptions/listen"],
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
    ["notifications/roots/list_changed", "notifications/progress"],
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


@pytest.mark.parametrize("value", [{}, {"supportedVersions": ["2031-01-01", 7]}])
def test_a_forced_modern_era_tells_a_server_that_is_not(value: Any) -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), value)
    assert "no protocol revision" in rig.told_one()["error"]["message"]
    rig.ask(1, "initialize", INTRODUCTION)
    rig.unreachable(rig.got_one())
    assert rig.told_one()["error"]["data"]["failure"] == "connect"


@pytest.mark.obligation(24)
def test_subscriptions_to_resources_are_made_by_listening() -> None:
    rig = bridged()
    rig.ask(1, "resources/subscribe", {"uri": "x:y"})
    assert rig.told() == []
    rig.ask(2, "resources/unsubscribe", {"uri": "another:one"})
    assert rig.told_one() == result(2, {})


def test_the_lists_that_may_change_are_listened_to_once_the_client_is_ready() -> None:
    rig = on_modern()
    rig.ask(0, "initialize", INTRODUCTION)
    assert rig.got() == []
    rig.say(notification("notifications/initialized"))
    listen = rig.got_one()
    assert listen.headers["Mcp-Method"] == "subscriptions/listen"
    wanted = {"toolsListChanged": True, "resourcesListChanged": True}
    assert listen.body["params"]["notifications"] == wanted
    assert listen.body["params"]["_meta"][PREFIX + "clientInfo"]["name"] == "desk"


def test_a_client_that_is_ready_before_its_introduction_is_answered_listens_after_it() -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.say(notification("notifications/initialized"))
    discover = rig.got_one()
    rig.succeed(discover, DISCOVERED)
    assert rig.told_one()["id"] == 0
    assert rig.got_one().headers["Mcp-Method"] == "subscriptions/listen"


def test_a_client_that_is_ready_and_never_introduced_listens_to_nothing() -> None:
    rig = started(ProtocolEra.MODERN)
    rig.say(notification("notifications/initialized"))
    assert rig.got() == []
    rig.ask(0, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), {})
    assert "no protocol revision" in rig.told_one()["error"]["message"]
    assert rig.got() == []


def test_a_tool_that_was_never_listed_is_looked_for_before_it_is_called() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "other", "arguments": {"r": "eu"}})
    listing = rig.got_one()
    assert listing.headers["Mcp-Method"] == "tools/list"
    schema = {"properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}
    rig.succeed(listing, {"tools": [{"name": "other", "inputSchema": schema}]})
    call = rig.got_one()
    assert call.headers["Mcp-Param-Region"] == "eu"
    rig.succeed(call, {"content": []})
    assert rig.told_one() == result(1, {"content": []})


@pytest.mark.obligation(11)
def test_what_the_client_said_to_a_server_of_another_era_counts() -> None:
    line = msgspec.json.encode({"jsonrpc": "2.0", "id": 0, "method": "initialize"})
    said = parse_client(line[:-1] + b',"params":%b}' % msgspec.json.encode(INTRODUCTION))
    client = LegacyClient(Options(), MODERN, said)
    meta = msgspec.json.decode(client.envelope()["_meta"])
    assert meta[PREFIX + "clientInfo"] == INTRODUCTION["clientInfo"]
    assert client.revision == "2025-06-18"


@pytest.mark.obligation(16)
def test_a_call_that_another_era_refused_is_begun_anew_without_its_rounds() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t"})
    call = rig.got_one()
    asked = {"q": {"method": "roots/list"}}
    value = {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}
    rig.succeed(call, value)
    question = rig.told_one()
    rig.say(result(question["id"], {"roots": []}))
    rig.reply(rig.got_one(), status=404)
    rig.succeed(rig.got_one(), DISCOVERED)
    again = rig.got_one()
    assert again.body["params"] == call.body["params"]
    rig.reply(again, error(None, -32000), 400)
    assert rig.told_one() == error(1, -32000)
    assert not [timer for timer in rig.timers if timer.startswith("rounds")]


def test_calls_that_ended_while_the_era_was_in_doubt_are_forgotten() -> None:
    rig = bridged()
    for number in (1, 2):
        rig.ask(number, "tools/call", {"name": "t"})
    first, second = rig.got()
    rig.succeed(first, {"resultType": "input_required", "requestState": "s"})
    rig.reply(second, status=404)
    probe = rig.got_one()
    rig.fire("pause")
    rig.fail(probe, Failure.TLS)
    assert sorted(told["id"] for told in rig.told()) == [1, 2]
    rig.fire("rounds")
    rig.ask(3, "prompts/list")
    rig.succeed(rig.got_one(), DISCOVERED)
    rig.succeed(rig.got_one(), {"prompts": []})
    assert rig.told_one() == result(3, {"prompts": []})


def test_a_call_whose_questions_the_old_era_asked_begins_anew_in_the_next() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t"})
    asked = {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}
    for _ in range(2):
        rig.succeed(rig.got_one(), asked)
        question = rig.told_one()
        rig.say(result(question["id"], {"roots": []}))
    rig.succeed(rig.got_one(), asked)
    question = rig.told_one()
    rig.ask(2, "prompts/list")
    rig.reply(rig.got_one(), status=404)
    rig.reply(rig.got_one(), status=404)
    assert rig.session.protocol_era is ProtocolEra.LEGACY
    assert rig.told() == [
        notification("notifications/cancelled", {"requestId": question["id"]}),
    ]
    posted: dict[int, Json] = {}
    while sent := rig.got():
        for each in sent:
            if each.method == "initialize":
                rig.succeed(each, INITIALIZED)
            elif each.raw and "id" in each.body:
                posted[each.body["id"]] = each.body
            else:
                rig.reply(each, status=202, headers={})
    assert {number: body["method"] for number, body in posted.items()} == {
        1: "tools/call",
        2: "prompts/list",
    }
    assert posted[1]["params"] == {"name": "t"}
