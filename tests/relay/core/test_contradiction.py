"""A legacy server that has become one of another era."""

from __future__ import annotations

import pytest

from relay.core.session import ProtocolEra
from tests.relay.core.losing import SESSION, calling, lose, posts
from tests.relay.core.rig import (
    DISCOVERED,
    INITIALIZED,
    INTRODUCTION,
    JSON,
    Json,
    Rig,
    error,
    notification,
    result,
    started,
)


def automatic() -> Rig:
    """A legacy client in a session with a server that the relay found to be a legacy one."""
    rig = started()
    rig.reply(rig.got_one(), status=405)
    rig.ask("init", "initialize", INTRODUCTION)
    headers = {**JSON, "mcp-session-id": "s1"}
    rig.reply(rig.got_one(), result("init", INITIALIZED), headers=headers)
    rig.told()
    return rig


MODERN_REFUSALS = [
    ("tools/call", 400, error(1, -32020)),
    ("tools/call", 400, error(None, -32021)),
    ("tools/call", 400, error(1, -32022)),
    ("tools/call", 400, error(1, -32602, "params._meta must be an object")),
    ("tools/list", 200, error(1, -32020)),
]


@pytest.mark.obligation(16)
@pytest.mark.parametrize(("method", "status", "refusal"), MODERN_REFUSALS)
def test_a_call_refused_by_a_server_that_turned_modern_is_made_in_the_new_way(
    method: str, status: int, refusal: Json
) -> None:
    rig, call = calling(automatic(), method=method)
    rig.reply(call, refusal, status)
    probe = rig.got_one()
    assert probe.method == "server/discover"
    rig.succeed(probe, DISCOVERED)
    assert rig.session.protocol_era is ProtocolEra.MODERN
    assert rig.told() == []
    assert {sent.headers["MCP-Protocol-Version"] for sent in posts(rig)} == {"2026-07-28"}


def test_initialize_refused_by_a_server_that_turned_modern_is_answered_all_the_same() -> None:
    rig = automatic()
    rig.ask(2, "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), error(2, -32601, "Method not found"), 404)
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.told_one()["result"]["serverInfo"]["name"] == "truck"


@pytest.mark.obligation(27)
def test_a_tool_call_that_may_have_run_is_answered_with_its_error() -> None:
    rig, call = calling(automatic())
    rig.reply(call, error(1, -32020), 200)
    assert rig.told_one()["error"]["code"] == -32020
    rig.ask(2, "ping")
    assert rig.got_one().method == "server/discover"


def test_a_server_that_is_as_it_was_refuses_a_call_for_good_in_the_end() -> None:
    rig, call = calling(automatic())
    for _ in range(3):
        rig.reply(call, error(1, -32020), 400)
        rig.reply(rig.got_one(), status=405)
        call = rig.got_one()
        assert call.headers[SESSION] == "s1"
    rig.reply(call, error(1, -32020), 400)
    assert rig.told_one()["error"]["code"] == -32020
    assert rig.got() == []


@pytest.mark.parametrize(("method", "status", "refusal"), MODERN_REFUSALS)
def test_a_forced_era_is_not_left(method: str, status: int, refusal: Json) -> None:
    rig, call = calling(method=method)
    rig.reply(call, refusal, status)
    assert rig.told_one()["error"]["code"] == refusal["error"]["code"]
    rig.ask(2, "ping")
    assert rig.got_one().method == "ping"


@pytest.mark.obligation(16)
def test_a_server_that_comes_back_as_a_modern_one_gets_what_waited() -> None:
    rig, call = calling(automatic())
    handshake = lose(rig, call)
    rig.say(notification("notifications/roots/list_changed"))
    rig.reply(handshake, error(None, -32022), 400)
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.session.protocol_era is ProtocolEra.MODERN
    assert rig.told() == []
    assert {sent.headers["MCP-Protocol-Version"] for sent in posts(rig)} == {"2026-07-28"}


def test_a_forced_era_is_not_left_for_a_server_that_comes_back_as_a_modern_one() -> None:
    rig, call = calling()
    rig.reply(lose(rig, call), error(None, -32022, "unsupported"), 400)
    assert rig.told_one()["error"]["code"] == -32022


@pytest.mark.obligation(16, 24)
def test_a_client_that_is_ready_hears_of_the_changes_of_a_server_that_turned_modern() -> None:
    rig = automatic()
    rig.say(notification("notifications/initialized"))
    rig.reply(rig.got_one(), status=202, headers={})
    rig.reply(rig.got_one(), status=405, headers={})
    rig, call = calling(rig)
    rig.reply(call, error(1, -32020), 400)
    rig.succeed(rig.got_one(), DISCOVERED)
    assert "subscriptions/listen" in [sent.method for sent in rig.got()]
