"""A 2026-07-28 client on a legacy server: translated."""

from __future__ import annotations

import pytest

from tests.relay.core.old_server import (
    FORMS,
    OFFERED,
    SERVER_INFO,
    calling,
    envelope,
    on_old_server,
)
from tests.relay.core.rig import (
    ENVELOPE,
    INITIALIZED,
    INTRODUCTION,
    MODERN,
    PREFIX,
    Json,
    notification,
    result,
)

# -- finding out the era --


def test_the_first_probe_is_refused_so_that_a_dual_era_client_turns_to_the_handshake() -> None:
    rig, _ = on_old_server()
    rig.ask_modern("probe", "server/discover")
    refusal = rig.told_one()["error"]
    assert refusal["code"] == -32601
    assert "initialize" in refusal["data"]["hint"]
    rig.ask(0, "initialize", INTRODUCTION)
    sent = rig.got_one()
    assert sent.body["params"] == INTRODUCTION
    rig.succeed(sent, INITIALIZED)
    assert rig.told_one() == result(0, INITIALIZED)


@pytest.mark.obligation(23)
def test_a_second_probe_is_answered_from_the_servers_introduction() -> None:
    rig, server = on_old_server()
    rig.ask_modern("a", "server/discover")
    rig.told()
    rig.ask_modern("b", "server/discover")
    assert server.take() == []
    assert rig.told_one() == result(
        "b",
        {
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": {
                name: value for name, value in OFFERED["capabilities"].items() if name != "tasks"
            },
            "instructions": "mind the gap",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": SERVER_INFO,
        },
    )


def test_a_probe_after_other_requests_is_answered() -> None:
    rig, server, sent = calling()
    server.answer(sent, {"content": []})
    rig.told()
    rig.ask_modern(2, "server/discover")
    assert rig.told_one()["result"]["supportedVersions"] == [MODERN]
    assert server.count("initialize") == 1


def test_the_server_is_told_who_the_client_is_and_what_it_can_do() -> None:
    rig, server = on_old_server()
    declared = {
        "elicitation": {"form": {}, "url": {}},
        "roots": {"listChanged": True},
        "sampling": {},
        "extensions": {PREFIX + "tasks": {}, "x.y/z": {}},
        "tasks": {},
    }
    rig.ask(1, "tools/list", {"_meta": envelope(declared)})
    server.take()
    assert server.log[0].body["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {
            "elicitation": {"form": {}, "url": {}},
            "roots": {},
            "sampling": {},
            "extensions": {"x.y/z": {}},
        },
        "clientInfo": {"name": "modern-client", "version": "3"},
    }
    assert [sent.method for sent in server.log[:2]] == ["initialize", "notifications/initialized"]


def test_a_client_without_a_name_gets_the_relays() -> None:
    rig, server = on_old_server()
    meta = {key: value for key, value in ENVELOPE.items() if not key.endswith("clientInfo")}
    rig.ask(1, "tools/list", {"_meta": meta})
    server.take()
    info = server.log[0].body["params"]["clientInfo"]
    assert info == {"name": "canferry-relay", "version": "0"}


def test_after_2026_traffic_the_older_handshake_has_a_session_of_its_own() -> None:
    rig, server, sent = calling()
    rig.ask(0, "initialize", INTRODUCTION)
    server.take()
    assert rig.told_one() == result(0, OFFERED)
    rig.say(notification("notifications/initialized"))
    rig.ask(2, "tools/list")
    plain = server.take_one()
    assert (plain.body, plain.headers["Mcp-Session-Id"]) == (
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        "s2",
    )
    server.answer(sent, {"content": []})
    assert rig.told_one()["id"] == 1


# -- the envelope --


@pytest.mark.parametrize("lacking", ["protocolVersion", "clientCapabilities"])
def test_an_incomplete_envelope_is_refused(lacking: str) -> None:
    rig, server = on_old_server()
    rig.ask_modern(0, "server/discover")
    rig.told()
    meta = {key: value for key, value in ENVELOPE.items() if key != PREFIX + lacking}
    rig.ask(1, "server/discover", {"_meta": meta})
    refusal = rig.told_one()["error"]
    assert refusal["code"] == -32602
    assert lacking in refusal["message"]
    assert server.take() == []


@pytest.mark.parametrize("version", ["2027-01-01", "", "2025-11-25"])
def test_another_revision_is_refused_with_the_one_that_is_spoken(version: str) -> None:
    rig, _ = on_old_server()
    rig.ask(1, "tools/list", {"_meta": {**ENVELOPE, PREFIX + "protocolVersion": version}})
    refusal = rig.told_one()["error"]
    assert refusal["code"] == -32022
    assert refusal["data"] == {"supported": [MODERN], "requested": version}


def test_an_illegal_log_level_is_refused() -> None:
    rig, _ = on_old_server()
    rig.ask(1, "tools/list", {"_meta": envelope(**{PREFIX + "logLevel": "loud"})})
    refusal = rig.told_one()["error"]
    assert refusal["code"] == -32602
    assert "debug" in refusal["data"]["hint"]


@pytest.mark.parametrize(
    "method", ["ping", "logging/setLevel", "resources/subscribe", "tasks/get", "tasks/list"]
)
def test_what_2026_has_removed_is_no_method(method: str) -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, method)
    assert rig.told_one()["error"]["code"] == -32601
    assert server.take() == []


# -- what the server tells --


def test_progress_is_told_to_the_request_that_it_is_for() -> None:
    rig, server, sent = calling(envelope(progressToken=7))
    progress = {"progressToken": 7, "progress": 1}
    server.tell(sent, "notifications/progress", progress)
    server.tell(sent, "notifications/progress", {"progressToken": "7", "progress": 2})
    server.tell(sent, "notifications/progress", {"progress": 2})
    assert rig.told_one() == notification("notifications/progress", progress)


@pytest.mark.obligation(28)
def test_progress_nobody_asked_for_is_dropped() -> None:
    rig, server, sent = calling()
    server.tell(sent, "notifications/progress", {"progressToken": 7, "progress": 1})
    assert rig.told() == []


@pytest.mark.obligation(28)
def test_log_messages_reach_only_the_request_that_wants_them_that_loud() -> None:
    rig, server, sent = calling(envelope(**{PREFIX + "logLevel": "warning"}))
    assert server.log[-2].body["params"] == {"level": "warning"}
    for level in ("info", "warning", "emergency", "loud"):
        server.tell(sent, "notifications/message", {"level": level, "data": "x"})
    assert [message["params"]["level"] for message in rig.told()] == ["warning", "emergency"]


@pytest.mark.obligation(28)
def test_log_messages_nobody_asked_for_are_dropped() -> None:
    rig, server, sent = calling()
    server.tell(sent, "notifications/message", {"level": "error", "data": "x"})
    assert rig.told() == []


def test_the_level_of_the_session_only_ever_gets_more_verbose() -> None:
    rig, server = on_old_server()
    for number, level in enumerate(["warning", "error", "warning", "debug", "info"]):
        rig.ask(number, "tools/list", {"_meta": envelope(**{PREFIX + "logLevel": level})})
        server.take()
    levels = [
        sent.body["params"]["level"] for sent in server.log if sent.method == "logging/setLevel"
    ]
    assert levels == ["warning", "debug"]


def test_a_server_without_logging_is_not_asked_for_any() -> None:
    meta = envelope(**{PREFIX + "logLevel": "debug"})
    _, server, sent = calling(meta, {**OFFERED, "capabilities": {}})
    assert sent.method == "tools/call"
    assert server.count("logging/setLevel") == 0


def test_a_call_cancelled_while_the_level_is_set_is_never_sent() -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, "tools/list")
    server.answer(server.take_one(), {"tools": []})
    rig.ask(2, "tools/call", {"_meta": envelope(**{PREFIX + "logLevel": "debug"})})
    (level,) = rig.got()
    rig.cancel(2)
    rig.succeed(level, {})
    assert server.take() == []


def test_what_belongs_to_no_request_is_dropped_except_for_extensions() -> None:
    rig, server, sent = calling(envelope(progressToken=7))
    server.tell(sent, "notifications/tasks/status", {"taskId": "1"})
    server.tell(sent, "notifications/elicitation/complete", {"elicitationId": "e"})
    server.tell(sent, "notifications/cancelled", {"requestId": 5})
    server.tell(sent, "notifications/cancelled", {})
    server.tell(sent, "notifications/x", {"y": 1})
    assert rig.told_one() == notification("notifications/x", {"y": 1})


@pytest.mark.parametrize("caps", [FORMS, {}])
def test_an_answered_ping_does_not_reach_the_client(caps: Json) -> None:
    rig, server, sent = calling(envelope(caps))
    server.ask(sent, "p", "ping")
    assert server.take_one().body == result("p", {})
    assert rig.told() == []
