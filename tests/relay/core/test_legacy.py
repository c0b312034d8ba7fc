"""A legacy client on a legacy server: passed through, in one session."""

from __future__ import annotations

from typing import Any

import pytest

from relay.core.commands import Verb
from relay.core.events import Failure, ServerSent
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    INITIALIZED,
    INTRODUCTION,
    JSON,
    STREAM,
    Rig,
    Sent,
    error,
    notification,
    on_legacy,
    result,
    started,
)


def calling() -> tuple[Rig, Any]:
    """A tools/call is open at the server."""
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    return rig, rig.got_one()


def posts(rig: Rig) -> list[Sent]:
    """What was posted, beside the request for the standing stream."""
    return [sent for sent in rig.got() if sent.verb is Verb.POST]


def test_a_forced_era_needs_no_probe() -> None:
    rig = started(ProtocolEra.LEGACY)
    assert rig.got() == []
    assert rig.notices == ["protocol era: legacy (as set)"]
    rig.ask(0, "initialize", INTRODUCTION)
    assert rig.got_one().method == "initialize"


def test_lines_and_answers_pass_byte_for_byte() -> None:
    rig = on_legacy()
    line = b'{ "jsonrpc":"2.0","id":1180591620717411303424,  "method":"x/y","params":{"n":1.10}}'
    rig.line(line)
    sent = rig.got_one()
    assert sent.raw == line
    answer = b'{"result":{"n":1.10},  "jsonrpc":"2.0","id":1180591620717411303424}'
    rig.reply(sent, answer)
    assert rig.emitted == [answer]


def test_session_and_version_are_on_everything_after_initialize() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/list")
    rig.say(notification("notifications/progress"))
    rig.say({"jsonrpc": "2.0", "id": 9, "result": {}})
    for sent in rig.got():
        assert sent.headers["Mcp-Session-Id"] == "s1"
        assert sent.headers["MCP-Protocol-Version"] == "2025-11-25"
        assert sent.headers["Accept"] == "application/json, text/event-stream"


def test_a_server_without_sessions_gets_no_session_header() -> None:
    rig = on_legacy(session=None)
    rig.ask(1, "tools/list")
    assert "Mcp-Session-Id" not in rig.got_one().headers


@pytest.mark.parametrize(
    ("body", "status"),
    [(error("init", -32602), 200), (error(None, -32600), 400), (result("init", 7), 200)],
)
def test_a_session_id_comes_from_a_successful_initialize_alone(body: Any, status: int) -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), body, status, {**JSON, "mcp-session-id": "discarded"})
    rig.ask(1, "tools/list")
    assert "Mcp-Session-Id" not in rig.got_one().headers


@pytest.mark.parametrize("value", ["a b", "a\r\nb", "é", ""])
def test_an_id_or_version_that_is_not_visible_ascii_is_not_sent_back(value: str) -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    answer = result("init", {**INITIALIZED, "protocolVersion": value})
    rig.reply(rig.got_one(), answer, headers={**JSON, "mcp-session-id": value})
    rig.ask(1, "tools/list")
    assert set(rig.got_one().headers) == {"Content-Type", "Accept"}


def test_what_follows_initialize_waits_for_the_handshake_to_be_over() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.say(notification("notifications/initialized"))
    rig.ask(1, "tools/list")
    rig.ask(2, "tools/list")
    handshake = rig.got_one()
    rig.reply(handshake, result(0, INITIALIZED), headers={**JSON, "mcp-session-id": "s1"})
    acknowledged = rig.got_one()
    assert acknowledged.method == "notifications/initialized"
    assert acknowledged.headers["Mcp-Session-Id"] == "s1"
    rig.reply(acknowledged, status=202, headers={})
    assert [sent.body["id"] for sent in posts(rig)] == [1, 2]
    assert rig.timers == {}


def test_a_server_that_never_accepts_the_handshake_holds_nothing_up_for_ever() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    rig.ask(1, "tools/list")
    assert rig.got_one().method == "notifications/initialized"
    rig.fire("gate")
    assert rig.got_one().body["id"] == 1


def test_an_accepted_handshake_is_over_though_its_response_is_not() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    rig.ask(1, "tools/list")
    acknowledged = rig.got_one()
    rig.head(acknowledged, 200, STREAM)
    assert [sent.body["id"] for sent in posts(rig)] == [1]
    rig.body(acknowledged, notification("notifications/message"))
    assert [message.get("method") for message in rig.told()] == [None, "notifications/message"]
    rig.fire("linger")
    rig.fire("linger")
    assert rig.aborted == [acknowledged.exchange]


def test_a_failed_initialize_lets_the_rest_go_on() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.ask(1, "tools/list")
    rig.fail(rig.got_one(), Failure.TLS)
    assert rig.told_one()["id"] == 0
    assert rig.got_one().body["id"] == 1


def test_a_request_that_waits_for_the_handshake_can_be_cancelled() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.ask(1, "tools/call", {"name": "t"})
    rig.cancel(1)
    rig.succeed(rig.got_one(), INITIALIZED)
    assert rig.got() == []
    assert [message["id"] for message in rig.told()] == [0]


def test_the_wait_for_the_handshake_is_bounded() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    for number in range(257):
        rig.ask(number, "tools/list")
    assert rig.told_one()["id"] == 256
    rig.say(notification("notifications/x"))
    assert "too many messages wait" in rig.notices[-1]


def test_the_answer_to_a_question_of_the_server_is_not_held_up_by_the_handshake() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    handshake = rig.got_one()
    rig.head(handshake, 200, STREAM)
    rig.body(handshake, {"jsonrpc": "2.0", "id": 0, "method": "ping"})
    assert rig.told_one()["method"] == "ping"
    rig.say({"jsonrpc": "2.0", "id": 0, "result": {}})
    assert rig.got_one().body == {"jsonrpc": "2.0", "id": 0, "result": {}}
    rig.body(handshake, result(0, INITIALIZED))
    assert rig.told_one()["result"] == INITIALIZED


def test_a_stream_brings_notifications_and_questions_before_the_answer() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    messages = [
        notification("notifications/progress", {"progress": 1}),
        {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {}},
        result(1, {"content": []}),
    ]
    for message in messages:
        rig.body(call, message)
        assert rig.told_one() == message
    rig.end(call)
    assert rig.told() == []


@pytest.mark.parametrize("status", [202, 400, 500])
def test_a_response_of_the_client_is_posted_at_once_and_never_answered(status: int) -> None:
    rig, _ = calling()
    rig.say({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}})
    posted = rig.got_one()
    rig.reply(posted, error(1, -32600), status)
    assert rig.told() == []


def test_the_answer_to_a_question_passes_byte_for_byte() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/call", {"name": "t"})
    call = rig.got_one()
    rig.head(call, 200, STREAM)
    rig.body(call, {"jsonrpc": "2.0", "id": "q", "method": "roots/list"})
    assert rig.told_one()["id"] == "q"
    line = b'{"id":"q", "jsonrpc":"2.0","result":{ "roots":[], "n":1.10 }}'
    rig.line(line)
    assert rig.got_one().raw == line


def test_calls_are_concurrent_and_answered_in_the_order_of_their_completion() -> None:
    rig, slow = calling()
    rig.ask(2, "ping")
    rig.succeed(rig.got_one(), {})
    assert rig.told_one()["id"] == 2
    rig.succeed(slow, {"content": []})
    assert rig.told_one()["id"] == 1


def test_a_cancelled_call_is_posted_as_a_notification_and_never_answered() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    rig.cancel(1)
    posted = rig.got_one()
    assert posted.body == notification("notifications/cancelled", {"requestId": 1})
    assert posted.headers["Mcp-Session-Id"] == "s1"
    assert rig.aborted == []
    rig.body(call, error(1, -32800, "Request cancelled"))
    rig.end(call)
    assert rig.told() == []


def test_a_cancellation_does_not_overtake_its_call() -> None:
    rig, call = calling()
    rig.cancel(1)
    assert rig.got() == []
    rig.fire("cancel")
    assert rig.got_one().method == "notifications/cancelled"
    rig.end(call)
    assert rig.told() == []


def test_a_call_that_ends_before_its_cancellation_goes_out_needs_none() -> None:
    rig, call = calling()
    rig.cancel(1)
    rig.succeed(call, {})
    rig.fire("cancel")
    assert rig.got() == []
    assert rig.told() == []


def test_the_late_answer_of_a_cancelled_call_is_not_taken_for_that_of_a_new_one() -> None:
    rig, old = calling()
    rig.cancel(1)
    rig.ask(1, "tools/call", {"name": "t"})
    new = rig.got_one()
    rig.succeed(old, {"which": "old"})
    assert rig.told() == []
    rig.succeed(new, {"which": "new"})
    assert rig.told_one()["result"] == {"which": "new"}


def test_initialize_is_never_cancelled() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.cancel(0)
    rig.succeed(rig.got_one(), INITIALIZED)
    assert rig.told_one()["id"] == 0


@pytest.mark.parametrize("named", [99, "1", None, [1]])
def test_a_cancellation_of_nothing_open_goes_nowhere(named: object) -> None:
    rig, call = calling()
    rig.cancel(named)
    rig.say({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    assert rig.got() == []
    rig.succeed(call, {})
    assert rig.told_one()["id"] == 1


def test_a_stream_left_open_after_the_answer_is_closed_in_the_end() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    rig.body(call, result(1, {}))
    assert rig.told_one()["id"] == 1
    rig.fire("linger")
    assert rig.aborted == []
    rig.fire("linger")
    assert rig.aborted == [call.exchange]
    assert rig.timers == {}


def test_a_stream_that_ends_by_itself_needs_no_closing() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    rig.body(call, result(1, {}))
    rig.end(call)
    rig.fire("linger")
    assert rig.aborted == []
    assert rig.timers == {}


def test_a_dual_era_client_is_sent_to_initialize() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask_modern(0, "server/discover")
    refused = rig.told_one()
    assert refused["error"]["code"] == -32601
    rig.ask(1, "initialize", INTRODUCTION)
    assert rig.got_one().method == "initialize"


def test_a_refused_notification_is_for_the_operator_alone() -> None:
    rig = on_legacy()
    rig.say(notification("notifications/x"))
    rig.reply(rig.got_one(), b"no", 500)
    assert rig.told() == []
    assert "notifications/x: the server failed (HTTP 500)" in rig.notices[-1]


def test_a_new_initialize_starts_a_new_session() -> None:
    rig = on_legacy()
    rig.ask("again", "initialize", INTRODUCTION)
    handshake = rig.got_one()
    assert "Mcp-Session-Id" not in handshake.headers
    rig.reply(handshake, result("again", INITIALIZED), headers={**JSON, "mcp-session-id": "s2"})
    rig.ask(1, "tools/list")
    assert rig.got_one().headers["Mcp-Session-Id"] == "s2"


def test_a_page_on_its_way_is_cancelled_under_its_own_id() -> None:
    rig = started(ProtocolEra.LEGACY, merge_pages=True)
    rig.ask(1, "tools/list")
    rig.succeed(rig.got_one(), {"tools": [], "nextCursor": "2"})
    second = rig.got_one()
    assert second.body["id"] != 1
    rig.head(second, 200, STREAM)
    rig.cancel(1)
    assert rig.got_one().body["params"] == {"requestId": second.body["id"]}


@pytest.mark.obligation(17, 43)
def test_the_end_cancels_what_is_open_but_no_handshake() -> None:
    rig, call = calling()
    rig.ask(2, "tools/call")
    rig.cancel(2)
    rig.ask(3, "initialize", INTRODUCTION)
    assert [sent.method for sent in rig.got()] == ["tools/call", "initialize"]
    rig.terminate()
    assert [sent.method for sent in rig.got()] == []
    assert {message["id"] for message in rig.told()} == {1, 3}
    rig.succeed(call, {})
    assert rig.told() == []


@pytest.mark.obligation(17, 43)
def test_the_end_gives_no_cancellation_a_head_start() -> None:
    rig, _ = calling()
    rig.cancel(1)
    rig.terminate()
    assert rig.got_one().method == "notifications/cancelled"


@pytest.mark.obligation(17, 43)
def test_a_session_is_not_ended_before_the_server_has_taken_each_cancellation() -> None:
    rig, call = calling()
    rig.ask(2, "tools/call", {"name": "t"})
    other = rig.got_one()
    rig.terminate()
    first, second = rig.got()
    rig.fail(call, Failure.CLOSED)
    rig.fail(other, Failure.CLOSED)
    rig.reply(first, status=202, headers={})
    assert rig.got() == []
    assert rig.exit_code is None
    rig.reply(second, status=202, headers={})
    goodbye = rig.got_one()
    assert goodbye.method == "DELETE"
    rig.reply(goodbye, status=204, headers={})
    assert rig.exit_code == 0


@pytest.mark.obligation(17, 43)
@pytest.mark.parametrize("by_itself", [True, False], ids=["over", "not over in time"])
def test_a_session_is_not_ended_before_what_was_cancelled_in_it_is_over(by_itself: bool) -> None:
    rig, call = calling()
    rig.terminate()
    rig.reply(rig.got_one(), status=202, headers={})
    assert (rig.got(), rig.exit_code) == ([], None)
    if by_itself:
        rig.fail(call, Failure.CLOSED)
    else:
        rig.fire("ending")
    assert rig.got_one().method == "DELETE"
    assert not [timer for timer in rig.timers if timer.startswith("ending")]


def test_a_call_that_was_cancelled_before_the_end_is_waited_for_as_well() -> None:
    rig, call = calling()
    rig.cancel(1)
    rig.fire("cancel")
    rig.reply(rig.got_one(), status=202, headers={})
    rig.close()
    assert rig.got() == []
    rig.fail(call, Failure.CLOSED)
    assert rig.got_one().method == "DELETE"


@pytest.mark.obligation(43)
def test_a_server_that_takes_no_cancellation_does_not_hold_up_the_end() -> None:
    rig, _ = calling()
    rig.terminate()
    assert rig.got_one().method == "notifications/cancelled"
    rig.fire("farewell")
    assert rig.exit_code == 0
    assert rig.got() == []


@pytest.mark.obligation(30, 33)
def test_a_handshake_whose_stream_breaks_off_is_resumed_in_the_session_that_it_began() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    initialize = rig.got_one()
    rig.head(initialize, 200, {**STREAM, "mcp-session-id": "s1"})
    rig.feed(ServerSent(initialize.exchange, b"", event_id="7", retry=10))
    rig.end(initialize)
    rig.fire("again:")
    resumption = rig.got_one()
    assert resumption.headers["Mcp-Session-Id"] == "s1"
    rig.head(resumption, 200, STREAM)
    rig.body(resumption, result("init", INITIALIZED))
    rig.ask(1, "tools/list")
    assert rig.got_one().headers["Mcp-Session-Id"] == "s1"
