"""Legacy sessions that a server loses: the client does not notice."""

from __future__ import annotations

from typing import Any

import pytest

from relay.core.commands import Verb
from relay.core.events import Failure, ServerSent
from relay.core.options import Transport
from relay.core.session import ProtocolEra
from tests.relay.core.losing import SESSION, calling, introduce, lose, restored
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

# -- the loss, and the new session --


@pytest.mark.obligation(30, 31)
def test_a_call_refused_for_a_lost_session_is_made_again_in_a_new_one() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    assert SESSION not in handshake.headers
    assert "MCP-Protocol-Version" not in handshake.headers
    assert handshake.body["params"] == INTRODUCTION
    assert handshake.body["id"] != "init"
    (again,) = restored(rig, handshake)
    assert again.raw == call.raw
    assert again.headers[SESSION] == "s2"
    rig.succeed(again, {"content": []})
    assert rig.told() == [result(1, {"content": []})]
    assert rig.timers == {}


def test_the_new_handshake_keeps_the_bytes_of_what_the_client_said() -> None:
    rig = started(ProtocolEra.LEGACY)
    info = b'{"name" : "desk","version":"2",  "n":1.10}'
    params = b'{"protocolVersion":"2025-06-18","clientInfo":%b,"capabilities":{ }}' % info
    rig.line(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":%b}' % params)
    answer = result(0, INITIALIZED)
    rig.reply(rig.got_one(), answer, headers={**JSON, "mcp-session-id": "s1"})
    rig.ask(1, "tools/list")
    handshake = lose(rig, rig.got_one())
    assert params in handshake.raw


@pytest.mark.obligation(31)
def test_many_calls_of_a_lost_session_cost_one_handshake() -> None:
    rig = on_legacy()
    for number in range(1, 6):
        rig.ask(number, "tools/call", {"name": "t"})
    first, *others = rig.got()
    handshake = lose(rig, first)
    for sent in others[:2]:
        rig.reply(sent, status=404, headers={})
    rig.ask(9, "ping")
    assert rig.got() == []
    assert [sent.body["id"] for sent in restored(rig, handshake)] == [1, 2, 3, 9]
    for sent in others[2:]:  # late, when there is a new session already
        rig.reply(sent, status=404, headers={})
        assert rig.got_one().body["id"] == sent.body["id"]
    assert rig.told() == []


def test_a_call_of_the_lost_session_may_still_be_answered_there() -> None:
    rig = on_legacy()
    for number in (1, 2, 3):
        rig.ask(number, "tools/call", {"name": "t"})
    first, second, third = rig.got()
    handshake = lose(rig, first)
    rig.succeed(second, {"content": []})
    assert rig.told_one()["id"] == 2
    rig.fail(third, Failure.CLOSED, may_have_executed=True)
    assert rig.told_one()["error"]["data"]["mayHaveExecuted"] is True
    assert [sent.body["id"] for sent in restored(rig, handshake)] == [1]


def test_what_the_client_says_meanwhile_waits_in_order() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.ask(2, "tools/list")
    rig.say(notification("notifications/roots/list_changed"))
    rig.ask(3, "ping")
    assert rig.got() == []
    waited = restored(rig, handshake)
    methods = ["tools/call", "tools/list", "notifications/roots/list_changed", "ping"]
    assert [sent.method for sent in waited] == methods


def test_a_notification_finds_the_session_lost_as_well() -> None:
    rig = on_legacy()
    rig.say(notification("notifications/roots/list_changed"))
    handshake = lose(rig, rig.got_one())
    assert restored(rig, handshake) == []
    assert rig.told() == []


@pytest.mark.parametrize("session", [None, "s1", "s2"])
def test_the_new_session_has_the_id_that_it_comes_with(session: str | None) -> None:
    rig, call = calling()
    (again,) = restored(rig, lose(rig, call), session)
    assert again.headers.get(SESSION) == session
    rig.succeed(again, {})
    assert rig.told_one()["id"] == 1


def test_a_new_session_of_another_revision_is_used_all_the_same() -> None:
    rig, call = calling()
    (again,) = restored(rig, lose(rig, call), protocolVersion="2025-03-26")
    assert again.headers["MCP-Protocol-Version"] == "2025-03-26"
    text = "the new session is of another protocol revision than the client's: 2025-03-26"
    assert text in rig.notices


@pytest.mark.parametrize("version", [None, 7])
def test_a_new_session_of_no_named_revision_is_used_all_the_same(version: object) -> None:
    rig, call = calling()
    assert len(restored(rig, lose(rig, call), protocolVersion=version)) == 1
    assert any("another protocol revision" in text and "none" in text for text in rig.notices)


def test_the_handshake_of_a_lost_session_does_not_hold_up_the_new_one() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    headers = {**JSON, "mcp-session-id": "s1"}
    rig.reply(rig.got_one(), result(0, INITIALIZED), headers=headers)
    rig.say(notification("notifications/initialized"))
    rig.ask(1, "tools/list")
    handshake = lose(rig, rig.got_one())
    assert [sent.body["id"] for sent in restored(rig, handshake)] == [1]
    assert rig.timers == {}


def test_the_acceptance_of_a_lost_handshake_is_not_that_of_the_new_one() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    headers = {**JSON, "mcp-session-id": "s1"}
    rig.reply(rig.got_one(), result(0, INITIALIZED), headers=headers)
    rig.say(notification("notifications/initialized"))
    (late,) = rig.got()
    rig.fire("gate")
    rig.ask(1, "tools/list")
    handshake = lose(rig, rig.got_one())
    rig.reply(late, status=202, headers={})
    assert rig.got() == []
    introduce(rig, handshake)
    assert [sent.verb for sent in rig.got()] == [Verb.GET, Verb.POST]


def test_a_new_session_that_does_not_accept_what_it_is_told_holds_nothing_up_for_ever() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.reply(handshake, result(handshake.body["id"], INITIALIZED))
    assert rig.got_one().method == "notifications/initialized"
    rig.fire("gate")
    assert rig.got_one().raw == call.raw


def test_what_the_client_says_of_its_own_handshake_is_not_said_twice() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    headers = {**JSON, "mcp-session-id": "s1"}
    rig.reply(rig.got_one(), result(0, INITIALIZED), headers=headers)
    rig.ask(1, "ping")
    handshake = lose(rig, rig.got_one())
    rig.say(notification("notifications/initialized"))
    rig.ask(2, "notifications/initialized")  # a request in spite of its name
    assert [sent.body.get("id") for sent in restored(rig, handshake)] == [1, 2]


def test_answers_in_a_resumed_stream_keep_their_session() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    rig.feed(ServerSent(call.exchange, b"", event_id="7"))
    _, other = calling(rig, 2)
    handshake = lose(rig, other)
    rig.end(call)
    rig.fire("again")
    resumption = rig.got_one()
    assert (resumption.verb, resumption.headers[SESSION]) == (Verb.GET, "s1")
    rig.reply(resumption, status=404, headers={})
    assert "ended before the answer" in rig.told_one()["error"]["message"]
    assert [sent.body["id"] for sent in restored(rig, handshake)] == [2]


# -- sessions that cannot be restored --


@pytest.mark.obligation(31)
def test_a_call_that_two_sessions_refuse_is_not_made_a_third_time() -> None:
    rig, call = calling()
    (again,) = restored(rig, lose(rig, call))
    rig.reply(again, status=404, headers={})
    told = rig.told_one()
    assert told["id"] == 1
    assert "loses each session at once" in told["error"]["message"]
    assert told["error"]["data"]["hint"]
    assert rig.got() == []
    rig.ask(2, "ping")
    (ping,) = restored(rig, rig.got_one(), "s3")
    assert ping.body["id"] == 2


def test_an_answer_of_the_lost_session_says_nothing_for_the_new_one() -> None:
    rig, late = calling()
    _, call = calling(rig, 2)
    (again,) = restored(rig, lose(rig, call))
    rig.succeed(late, {})
    assert rig.told_one()["id"] == 1
    rig.reply(again, status=404, headers={})
    assert rig.told_one()["id"] == 2
    assert rig.got() == []


def test_a_session_that_has_served_is_replaced_as_often_as_it_is_lost() -> None:
    rig = on_legacy()
    for number in range(10):
        _, call = calling(rig, number)
        (again,) = restored(rig, lose(rig, call), f"s{number}")
        rig.succeed(again, {})
        assert rig.told_one()["id"] == number


def test_a_session_lost_in_its_own_handshake_is_an_error_for_who_waits() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    headers = {**JSON, "mcp-session-id": "s2"}
    rig.reply(handshake, result(handshake.body["id"], INITIALIZED), headers=headers)
    rig.say(notification("notifications/roots/list_changed"))
    rig.reply(rig.got_one(), status=404, headers={})
    assert "loses each session at once" in rig.told_one()["error"]["message"]
    assert rig.got() == []
    assert rig.timers == {}


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (500, b"", "the server failed (HTTP 500)"),
        (401, b"", "authorization"),
        (200, error(None, -32603, "full"), "full"),
        (200, {"jsonrpc": "2.0", "id": None, "error": 7}, "InitializeResult is no object"),
    ],
)
def test_a_session_that_cannot_be_restored_is_an_error_for_all_who_wait(
    status: int, body: Any, said: str
) -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.ask(2, "ping")
    rig.say(notification("notifications/roots/list_changed"))
    rig.reply(handshake, body, status)
    told = rig.told()
    assert [message["id"] for message in told] == [1, 2]
    for message in told:
        text = message["error"]["message"]
        assert text.startswith("the session was lost and could not be restored: ")
        assert said in text
        assert message["error"]["data"]["hint"]
    assert rig.timers == {}
    rig.ask(3, "ping")
    (ping,) = restored(rig, rig.got_one())
    assert ping.body["id"] == 3


def test_a_server_that_cannot_be_reached_is_tried_again_with_the_next_message() -> None:
    rig, call = calling()
    rig.unreachable(lose(rig, call))
    told = rig.told_one()["error"]
    assert "cannot reach the server" in told["message"]
    assert told["data"]["failure"] == "connect"
    rig.say(notification("notifications/roots/list_changed"))
    (waited,) = restored(rig, rig.got_one())
    assert waited.method == "notifications/roots/list_changed"


def test_a_server_that_does_not_answer_is_not_waited_for_without_end() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.fire("restore")
    assert "did not answer initialize within 30 s" in rig.told_one()["error"]["message"]
    rig.ask(2, "ping")
    second = rig.got_one()
    rig.reply(handshake, result(handshake.body["id"], INITIALIZED))  # too late
    assert rig.got() == []
    (ping,) = restored(rig, second)
    assert ping.body["id"] == 2


def test_a_server_that_ends_its_answer_without_one_counts_as_silent() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.reply(handshake, b"", 202, {})
    assert "could not be restored" in rig.told_one()["error"]["message"]


def test_the_wait_for_a_new_session_is_bounded() -> None:
    rig, call = calling()
    lose(rig, call)
    for number in range(300):
        rig.ask(f"n{number}", "ping")
    assert len(rig.told()) == 300 - 255


def test_a_client_that_starts_over_needs_no_restored_session() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.ask("mine", "initialize", INTRODUCTION)
    rig.reply(handshake, status=500)
    assert rig.told_one()["id"] == 1
    mine = rig.got_one()
    assert mine.body["id"] == "mine"
    rig.reply(mine, result("mine", INITIALIZED), headers={**JSON, "mcp-session-id": "s3"})
    assert rig.told_one()["id"] == "mine"
    rig.ask(2, "ping")
    ping = rig.got_one()
    assert (ping.method, ping.headers[SESSION]) == ("ping", "s3")


def test_a_client_may_start_over_while_there_is_no_session() -> None:
    rig, call = calling()
    rig.reply(lose(rig, call), status=500)
    rig.told()
    rig.ask("mine", "initialize", INTRODUCTION)
    headers = {**JSON, "mcp-session-id": "s3"}
    rig.reply(rig.got_one(), result("mine", INITIALIZED), headers=headers)
    rig.ask(2, "ping")
    ping = rig.got_one()
    assert (ping.method, ping.headers[SESSION]) == ("ping", "s3")


# -- cancellation, and the end --


def test_the_call_that_found_the_session_lost_may_be_cancelled_meanwhile() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.ask(2, "ping")
    rig.cancel(1)
    (ping,) = restored(rig, handshake)
    assert ping.body["id"] == 2
    assert rig.told() == []


@pytest.mark.obligation(17)
def test_a_cancellation_in_a_lost_session_goes_nowhere() -> None:
    rig, first = calling()
    _, second = calling(rig, 2)
    _, call = calling(rig, 3)
    rig.cancel(1)  # its head start is not over
    handshake = lose(rig, call)
    assert not any(timer.startswith("cancel") for timer in rig.timers)
    rig.head(second, 200, STREAM)
    rig.cancel(2)
    assert rig.got() == []
    (again,) = restored(rig, handshake)
    rig.succeed(first, {})
    rig.body(second, result(2, {}))
    assert rig.told() == []
    rig.head(again, 200, STREAM)
    rig.cancel(3)
    cancelled = rig.got_one()
    assert (cancelled.body["params"], cancelled.headers[SESSION]) == ({"requestId": 3}, "s2")


@pytest.mark.obligation(43)
def test_a_client_that_leaves_while_a_session_is_restored_is_not_held_up() -> None:
    rig, call = calling()
    lose(rig, call)
    rig.close()
    rig.fire("drain")
    assert rig.exit_code == 0
    assert "stdin" in rig.told_one()["error"]["message"]


def test_no_session_is_restored_at_the_end() -> None:
    rig, call = calling()
    other = calling(rig, 2)[1]
    rig.terminate()
    cancelled = rig.got()
    assert [sent.method for sent in cancelled] == ["notifications/cancelled"] * 2
    rig.reply(call, status=404, headers={})
    rig.reply(other, status=404, headers={})
    assert rig.got() == []
    for sent in cancelled:
        rig.reply(sent, status=404, headers={})
    assert rig.got_one().method == "DELETE"


def test_at_the_end_nothing_is_cancelled_that_a_lost_session_had_begun() -> None:
    rig, _ = calling()
    _, call = calling(rig, 2)
    (again,) = restored(rig, lose(rig, call))
    rig.terminate()
    ended = rig.got_one()
    assert ended.method == "notifications/cancelled"
    assert ended.body["params"]["requestId"] == again.body["id"]


def test_initialize_is_not_cancelled_when_its_time_is_up() -> None:
    rig = started(ProtocolEra.LEGACY, total_timeout=80.0)
    rig.ask(0, "initialize", INTRODUCTION)
    handshake = rig.got_one()
    for _ in range(8):
        rig.fire("ageing")
    rig.ask(1, "ping")
    rig.fire("ageing")
    assert rig.told_one()["id"] == 0
    assert [sent.body["id"] for sent in rig.got()] == [1]
    rig.reply(handshake, result(0, INITIALIZED))
    assert rig.told() == []


# -- HTTP+SSE, where the stream is the session --


def streaming() -> tuple[Rig, Sent]:
    """The server of 2024-11-05 has named its endpoint and got the client's handshake."""
    rig = started(ProtocolEra.LEGACY, transport=Transport.SSE)
    rig.ask(0, "initialize", INTRODUCTION)
    stream = rig.got_one()
    rig.head(stream, 200, STREAM)
    rig.feed(ServerSent(stream.exchange, b"/messages", "endpoint"))
    rig.reply(rig.got_one(), status=202, headers={})
    return rig, stream


def test_a_handshake_lost_with_its_stream_is_for_the_client_to_repeat() -> None:
    rig, stream = streaming()
    rig.ask(1, "ping")
    rig.end(stream)
    assert rig.told_one()["id"] == 0


@pytest.mark.obligation(31)
def test_a_session_lost_with_its_stream_is_made_anew_in_another_one() -> None:
    rig, stream = streaming()
    rig.body(stream, result(0, INITIALIZED))
    rig.ask(1, "tools/call", {"name": "t"})
    rig.told()
    rig.end(stream)
    assert rig.told_one()["error"]["data"]["mayHaveExecuted"] is True
    rig.ask(2, "ping")
    if any(timer.startswith("sse-again") for timer in rig.timers):
        rig.fire("sse-again")
    stream = next(sent for sent in rig.got() if sent.verb is Verb.GET)
    rig.head(stream, 200, STREAM)
    rig.feed(ServerSent(stream.exchange, b"/messages", "endpoint"))
    handshake = rig.got_one()
    rig.reply(handshake, status=202, headers={})
    rig.body(stream, result(handshake.body["id"], INITIALIZED))
    rig.reply(rig.got_one(), status=202, headers={})
    assert rig.got_one().body["id"] == 2
