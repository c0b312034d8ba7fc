"""The session as a whole: lines in, the end, and eras that change under way."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.commands import ClearTimer, SetTimer, Stop, Verb
from relay.core.events import (
    ClientClosed,
    ClientLine,
    ClientLineTooLong,
    Failure,
    Terminated,
    TimerFired,
    TimerId,
)
from relay.core.session import Options, ProtocolEra, Session
from tests.relay.core.rig import (
    DISCOVERED,
    INITIALIZED,
    INTRODUCTION,
    JSON,
    STREAM,
    Rig,
    bridged,
    error,
    notification,
    on_legacy,
    on_modern,
    result,
    started,
)

# -- lines --


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"{bad", -32700, None),
        (b"\xff", -32700, None),
        (b"[]", -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600, None),
        (b'{"id":5,"method":"m"}', -32600, 5),
    ],
)
def test_a_bad_line_is_answered_and_survived(
    line: bytes, code: int, request_id: int | None
) -> None:
    rig = on_legacy()
    rig.line(line)
    told = rig.told_one()
    assert (told["error"]["code"], told["id"]) == (code, request_id)
    rig.ask(1, "tools/list")
    assert rig.got_one().method == "tools/list"


@pytest.mark.parametrize("line", [b"", b"\r", b"  \t"])
def test_a_blank_line_is_nothing(line: bytes) -> None:
    rig = on_legacy()
    rig.line(line)
    assert rig.told() == []


def test_a_line_that_is_too_long_is_answered_without_an_id() -> None:
    rig = on_legacy()
    rig.feed(ClientLineTooLong(2000, 1000))
    told = rig.told_one()
    assert (told["id"], told["error"]["code"]) == (None, -32600)
    assert told["error"]["message"] == "a line of 2000 bytes exceeds the limit of 1000"


def test_a_second_request_under_an_open_id_is_refused_without_touching_the_first() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    call = rig.got_one()
    rig.ask(1, "tools/list")
    rig.line(b'{"id":1,"method":"m"}')
    for refused in rig.told():
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert rig.got() == []
    rig.succeed(call, {})
    assert rig.told_one() == result(1, {})
    rig.ask(1, "tools/list")
    assert rig.got_one().body["id"] == 1


def test_a_request_by_the_name_of_a_cancellation_is_a_request() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    call = rig.got_one()
    rig.ask(2, "notifications/cancelled", {"requestId": 1})
    rig.reply(rig.got_one(), error(2, -32601))
    assert rig.told_one()["id"] == 2
    rig.succeed(call, {})
    assert rig.told_one() == result(1, {})


def test_a_number_and_a_string_are_different_ids() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/list")
    rig.ask("1", "tools/list")
    number, text = rig.got()
    rig.succeed(text, {})
    assert rig.told_one()["id"] == "1"
    rig.succeed(number, {})
    assert rig.told_one()["id"] == 1


@pytest.mark.parametrize("levels", range(800, 1001))
def test_no_depth_of_nesting_brings_the_relay_down(levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    rig = started()
    rig.line(b'{"jsonrpc":"2.0","method":"tools/call","params":{"_meta":%b},"id":7}' % deep)
    rig.succeed(rig.got_one(), DISCOVERED)  # what waited is looked into far down the stack
    for _ in range(2):
        for sent in rig.got():
            if sent.method == "tools/list":
                rig.succeed(sent, {"tools": []})
                continue
            rig.reply(sent, b'{"jsonrpc":"2.0","id":7,"result":{"_meta":%b,"content":[]}}' % deep)
    assert rig.told_one()["id"] == 7


def test_arguments_that_are_null_are_left_out() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t", "arguments": None, "_meta": {"x": None}})
    assert rig.got_one().body["params"] == {"name": "t", "_meta": {"x": None}}
    rig.ask(2, "tools/call", {"name": "t", "arguments": {"x": None}})
    assert rig.got_one().body["params"] == {"name": "t", "arguments": {"x": None}}
    rig.ask(3, "vendor/x", {"arguments": None})
    assert rig.got_one().body["params"] == {"arguments": None}


# -- the end --


def test_an_idle_modern_session_ends_at_once() -> None:
    rig = on_modern()
    rig.close()
    assert rig.exit_code == 0


def test_an_idle_legacy_session_is_deleted_first() -> None:
    rig = on_legacy()
    rig.close()
    goodbye = rig.got_one()
    assert goodbye.verb is Verb.DELETE
    assert goodbye.headers == {"Mcp-Session-Id": "s1", "MCP-Protocol-Version": "2025-11-25"}
    assert rig.exit_code is None
    rig.reply(goodbye, status=405, headers={})
    assert rig.exit_code == 0


def test_a_legacy_session_without_an_id_has_nothing_to_delete() -> None:
    rig = on_legacy(session=None)
    rig.close()
    assert rig.got() == []
    assert rig.exit_code == 0


def test_a_server_that_does_not_take_the_goodbye_is_left() -> None:
    rig = on_legacy()
    rig.close()
    rig.fire("farewell")
    assert rig.exit_code == 0


def test_open_calls_are_still_answered_after_the_client_has_closed_its_side() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    rig.ask(2, "tools/list")
    first, second = rig.got()
    rig.close()
    rig.close()
    assert rig.timers == {"drain": 5.0}
    rig.succeed(second, {})
    rig.succeed(first, {})
    assert [message["id"] for message in rig.told()] == [2, 1]
    rig.reply(rig.got_one(), status=200, headers={})
    assert rig.exit_code == 0


def test_a_whole_piped_session_is_served_to_its_end() -> None:
    rig = started()
    rig.ask(0, "initialize", INTRODUCTION)
    rig.say(notification("notifications/initialized"))
    rig.ask(1, "tools/list")
    rig.close()
    rig.reply(rig.got_one(), status=404)
    rig.succeed(rig.got_one(), INITIALIZED)
    rig.reply(rig.got_one(), status=202, headers={})
    stream, listing = rig.got()
    assert stream.verb is Verb.GET
    rig.succeed(listing, {"tools": []})
    assert [message["id"] for message in rig.told()] == [0, 1]
    assert rig.exit_code == 0


def test_what_outlasts_the_drain_is_cancelled_at_a_legacy_server_and_told() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    call = rig.got_one()
    rig.close()
    rig.fire("drain")
    cancelled = rig.got_one()
    assert cancelled.body == notification("notifications/cancelled", {"requestId": 1})
    rig.succeed(call, {})
    rig.reply(cancelled, status=202, headers={})
    goodbye = rig.got_one()
    assert goodbye.verb is Verb.DELETE
    rig.reply(goodbye, status=204, headers={})
    told = rig.told_one()
    assert told["id"] == 1
    assert told["error"]["data"]["mayHaveExecuted"]
    assert "--drain-timeout" in told["error"]["data"]["hint"]
    assert rig.exit_code == 0


def test_what_outlasts_the_drain_is_closed_at_a_modern_server() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t"})
    call = rig.got_one()
    rig.close()
    assert rig.exit_code is None
    rig.fire("drain")
    assert call.exchange in rig.aborted
    assert rig.told_one()["error"]["data"]["mayHaveExecuted"]
    assert rig.exit_code == 0


def test_a_subscription_does_not_hold_the_end_up() -> None:
    rig = on_modern()
    rig.ask_modern(1, "subscriptions/listen")
    listen = rig.got_one()
    rig.close()
    assert rig.aborted == [listen.exchange]
    assert rig.exit_code == 0


def test_a_cancellation_that_is_due_goes_out_before_the_end() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    rig.got_one()
    rig.cancel(1)
    rig.terminate()
    assert rig.got_one().method == "notifications/cancelled"


def test_an_unanswered_handshake_is_not_cancelled_at_the_end() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.ask(1, "tools/list")
    rig.got_one()
    rig.close()
    rig.fire("drain")
    assert rig.got() == []
    assert rig.exit_code == 0


def test_the_end_can_come_before_the_era_is_known() -> None:
    rig = started()
    probe = rig.got_one()
    rig.ask(0, "initialize", INTRODUCTION)
    rig.close()
    assert rig.exit_code is None
    rig.fire("drain")
    assert rig.aborted == [probe.exchange]
    assert "stdin" in rig.told_one()["error"]["message"]
    assert rig.exit_code == 0


def test_a_client_that_leaves_before_it_asks_anything_is_not_waited_for() -> None:
    rig = started()
    rig.close()
    assert rig.exit_code == 0


def test_a_signal_answers_what_is_open_and_ends() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t"})
    rig.ask(2, "tools/list")
    rig.terminate()
    call, listing = rig.told()
    assert call["error"]["data"] == {"mayHaveExecuted": True}
    assert "SIGTERM" in call["error"]["message"]
    assert listing["error"]["code"] == -32603
    assert len(rig.aborted) == 3, "the call, the list and the stream for changes"
    assert rig.exit_code == 0


def test_a_call_that_never_left_cannot_have_run() -> None:
    rig = started()
    rig.ask_modern(1, "tools/call", {"name": "t"})
    rig.terminate()
    assert "data" not in rig.told_one()["error"]
    assert rig.exit_code == 0


def test_a_signal_cancels_at_a_legacy_server_what_it_has_answered() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    rig.got_one()
    rig.terminate()
    assert rig.told_one()["id"] == 1
    assert rig.got_one().method == "notifications/cancelled"
    rig.ask(2, "tools/list")
    late = rig.told_one()
    assert late["id"] == 2
    assert "SIGTERM" in late["error"]["message"]
    rig.say(notification("notifications/x"))
    assert rig.got() == []
    assert rig.feed(ClientClosed()) == []
    rig.terminate()
    assert rig.exit_code == 0


def test_nothing_follows_stop() -> None:
    session = Session(Options(protocol_era=ProtocolEra.MODERN))
    assert session.receive(Terminated("SIGINT"))[-1] == Stop(0)
    assert session.receive(ClientLine(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')) == []
    assert session.receive(ClientClosed()) == []


def test_a_drain_of_no_time_is_allowed_and_a_timer_of_nobody_ignored() -> None:
    rig = started(ProtocolEra.LEGACY, drain_timeout=0.0)
    assert rig.feed(TimerFired(TimerId("nobody"))) == []
    rig.ask(1, "tools/list")
    commands = rig.feed(ClientClosed())
    assert commands == [SetTimer(TimerId("drain"), 0.0)]
    assert ClearTimer(TimerId("drain")) in rig.feed(TimerFired(TimerId("drain")))


# -- eras that change --


def contradicted_modern() -> Rig:
    """A modern server that has been replaced by a legacy one, and refuses a request."""
    rig = bridged()
    rig.ask(1, "tools/list")
    rig.reply(rig.got_one(), error(None, -32600, "Bad Request: Missing session ID"), 400)
    assert rig.told() == [], "it was not executed, so it will be asked again"
    return rig


def test_a_server_that_turned_legacy_is_asked_again_and_given_a_session() -> None:
    rig = contradicted_modern()
    probe = rig.got_one()
    assert probe.method == "server/discover"
    rig.say(notification("vendor/hint"))
    assert rig.got_one().method == "vendor/hint"
    rig.reply(probe, error(None, -32600), 400)
    assert rig.session.protocol_era is ProtocolEra.LEGACY
    handshake = rig.got_one()
    assert handshake.body["params"] == INTRODUCTION
    rig.reply(
        handshake,
        result(handshake.body["id"], INITIALIZED),
        headers={**JSON, "mcp-session-id": "s9"},
    )
    rig.reply(rig.got_one(), status=202, headers={})
    _, listing = rig.got()
    assert listing.headers["Mcp-Session-Id"] == "s9"
    rig.succeed(listing, {"tools": []})
    assert rig.told()[-1] == result(1, {"tools": []})


def test_a_doubt_that_proves_unfounded_changes_nothing() -> None:
    rig = contradicted_modern()
    probe = rig.got_one()
    rig.ask(2, "logging/setLevel", {"level": "info"})
    rig.ask(3, "tools/list")
    rig.succeed(probe, DISCOVERED)
    assert rig.session.protocol_era is ProtocolEra.MODERN
    assert rig.told_one() == result(2, {})
    first, third = rig.got()
    assert [first.body["id"], third.body["id"]] == [1, 3]
    meta = third.body["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "desk"
    assert meta["io.modelcontextprotocol/logLevel"] == "info"


def test_a_forced_era_is_never_doubted() -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask_modern(1, "tools/list")
    rig.reply(rig.got_one(), b"", 404)
    assert rig.told_one()["error"]["code"] == -32601
    rig.ask_modern(2, "tools/list")
    assert rig.got_one().method == "tools/list"


def test_a_modern_error_is_no_sign_of_another_era() -> None:
    rig = bridged()
    rig.ask(1, "tools/list")
    rig.reply(rig.got_one(), error(1, -32600), 400)
    rig.ask(2, "tools/list")
    assert rig.got_one().method == "tools/list"


@pytest.mark.parametrize(
    ("method", "code"),
    [("initialize", -32601), ("initialize", -32022), ("tools/list", -32020)],
)
def test_a_server_that_turned_modern_is_asked_again(method: str, code: int) -> None:
    rig = started()
    rig.reply(rig.got_one(), status=405)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), INITIALIZED)
    rig.ask(1, method, INTRODUCTION)
    rig.reply(rig.got_one(), error(1, code), 400)
    rig.ask(2, "tools/list")
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.session.protocol_era is ProtocolEra.MODERN
    meta = rig.got()[-1].body["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "desk"


def test_calls_of_the_old_era_are_answered_and_cancelled_beside_the_new_one() -> None:
    rig = started()
    rig.reply(rig.got_one(), status=405)
    for number in (1, 2):
        rig.ask(number, "tools/call", {"name": "t"})
    first, second = rig.got()
    for sent in (first, second):
        rig.head(sent, 200, STREAM)
    rig.ask(3, "tools/list")
    rig.reply(rig.got_one(), error(3, -32020), 400)
    assert rig.told() == []
    probe = rig.got_one()
    rig.cancel(3)
    rig.say({"jsonrpc": "2.0", "id": 7, "result": {}})
    assert rig.got_one().body["id"] == 7
    rig.succeed(probe, DISCOVERED)
    rig.cancel(1)
    assert rig.got_one().body == notification("notifications/cancelled", {"requestId": 1})
    rig.body(second, result(2, {}))
    assert rig.told_one() == result(2, {})


def test_a_probe_in_doubt_that_fails_leaves_the_era_as_it_was() -> None:
    rig = contradicted_modern()
    rig.fail(rig.got_one(), Failure.TLS)
    assert rig.told_one()["id"] == 1
    assert rig.session.protocol_era is ProtocolEra.MODERN
    rig.ask(3, "tools/list")
    assert rig.got_one().method == "server/discover"


def test_the_same_events_give_the_same_commands() -> None:
    def run() -> list[Any]:
        rig = bridged()
        rig.ask(1, "tools/call", {"name": "t"})
        rig.succeed(rig.got_one(), {"content": []})
        return [msgspec.json.decode(line) for line in rig.emitted] + rig.notices

    assert run() == run()


@pytest.mark.obligation(26)
def test_a_subscription_at_a_server_that_turned_legacy_is_told_to_be_lost() -> None:
    rig = on_modern()
    rig.ask_modern("l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    stream = rig.got_one()
    rig.head(stream, 200, STREAM)
    rig.ask_modern(1, "tools/list")
    rig.reply(rig.got_one(), error(None, -32600, "Bad Request: Missing session ID"), 400)
    assert rig.told() == []
    rig.reply(rig.got_one(), status=405)
    assert rig.session.protocol_era is ProtocolEra.LEGACY
    assert stream.exchange in rig.aborted
    assert rig.told() == [notification("notifications/cancelled", {"requestId": "l"})]


def test_a_notification_on_its_way_to_a_modern_server_does_not_hold_up_the_end() -> None:
    rig = on_modern()
    rig.say(notification("vendor/x"))
    sent = rig.got_one()
    rig.terminate()
    assert rig.aborted == [sent.exchange]
    assert rig.exit_code == 0
