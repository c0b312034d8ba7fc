"""The sessions that the relay holds at a legacy server for a 2026-07-28 client."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from relay.core.commands import Command
from relay.core.errors import Problem
from relay.core.events import ServerSent
from relay.core.legacy.modern_client import MAX_SESSIONS
from relay.core.legacy.own_session import OwnCalls
from relay.core.options import Transport
from relay.core.session import ProtocolEra
from tests.relay.core.old_server import (
    OFFERED,
    OldServer,
    calling,
    envelope,
    on_old_server,
)
from tests.relay.core.rig import (
    DISCOVERED,
    ENVELOPE,
    JSON,
    MODERN,
    PREFIX,
    STREAM,
    Json,
    Rig,
    Sent,
    error,
    notification,
    result,
    started,
)


def test_each_set_of_capabilities_has_a_session_of_its_own() -> None:
    rig, server, _ = calling(envelope({"roots": {}, "elicitation": {"form": {}, "url": {}}}))
    rig.ask(2, "tools/list", {"_meta": envelope({"sampling": {}})})
    rig.ask(
        3, "tools/list", {"_meta": envelope({"elicitation": {"url": {}, "form": {}}, "roots": {}})}
    )
    assert [sent.headers["Mcp-Session-Id"] for sent in server.take()] == ["s1", "s2"]
    assert server.count("initialize") == 2


def test_capabilities_with_a_number_out_of_range_are_capabilities() -> None:
    rig, _server = on_old_server()
    rig.line(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{'
        b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientCapabilities":{"experimental":{"x":1e400}}}}}'
    )
    assert len(rig.got()) == 1


def test_requests_wait_for_the_session_in_order() -> None:
    rig, server = on_old_server()
    for number in range(3):
        rig.ask_modern(number, "tools/call", {"name": str(number)})
    (initialize,) = rig.got()
    rig.succeed(initialize, OFFERED)
    initialized = rig.got_one()
    rig.reply(initialized, status=202, headers={})
    assert [sent.body["params"]["name"] for sent in server.take()] == ["0", "1", "2"]


def test_a_request_cancelled_before_there_is_a_session_is_never_sent() -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, "tools/call", {"name": "t"})
    rig.cancel(1)
    rig.ask_modern(2, "tools/list")
    assert [sent.method for sent in server.take()] == ["tools/list"]
    assert server.count("initialize") == 1


def test_a_refused_handshake_is_told_to_all_who_wait_and_the_next_one_tries_again() -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, "tools/list")
    rig.ask_modern(2, "server/discover")
    rig.ask_modern(3, "subscriptions/listen", {"notifications": {}})
    sent = rig.got_one()
    rig.reply(sent, error(sent.body["id"], -32602, "who are you"))
    told = rig.told()
    assert [message["id"] for message in told] == [1, 2, 3]
    assert {message["error"]["message"] for message in told} == {"who are you"}
    rig.ask_modern(4, "tools/list")
    server.answer(server.take_one(), {"tools": []})
    assert rig.told_one()["id"] == 4


def test_an_introduction_that_is_no_object_is_an_error() -> None:
    rig, _ = on_old_server()
    rig.ask_modern(1, "tools/list")
    sent = rig.got_one()
    rig.reply(sent, result(sent.body["id"], 5))
    told = rig.told_one()["error"]
    assert (told["code"], told["message"]) == (-32603, "the server's InitializeResult is no object")


def test_a_server_without_a_name_is_given_one() -> None:
    rig, server = on_old_server({"protocolVersion": "2025-06-18", "instructions": 7})
    rig.ask_modern(1, "server/discover")
    rig.told()
    rig.ask_modern(2, "server/discover")
    server.take()
    answer = rig.told_one()["result"]
    assert answer["_meta"] == {PREFIX + "serverInfo": {"name": "server", "version": ""}}
    assert answer["capabilities"] == {}
    assert "instructions" not in answer


def filled(extra: int = 0) -> tuple[Rig, OldServer]:
    """As many sessions as there may be, each idle."""
    rig, server = on_old_server()
    for number in range(MAX_SESSIONS + extra):
        rig.ask(number, "tools/list", {"_meta": envelope({"experimental": {str(number): {}}})})
        server.answer(server.take_one(), {"tools": []})
    rig.told()
    return rig, server


def test_the_session_idle_for_longest_is_ended_when_there_are_too_many() -> None:
    rig, server = filled()
    rig.ask(0, "tools/list", {"_meta": envelope({"experimental": {"0": {}}})})
    server.answer(server.take_one(), {"tools": []})
    rig.ask(1, "tools/list", {"_meta": envelope({"experimental": {"new": {}}})})
    server.take()
    (deleted,) = [sent for sent in server.log if sent.verb == "DELETE"]
    assert deleted.headers["Mcp-Session-Id"] == "s2"


def test_sessions_in_use_are_not_ended_and_one_more_is_refused() -> None:
    rig, server = on_old_server()
    for number in range(MAX_SESSIONS):
        rig.ask(number, "tools/call", {"_meta": envelope({"experimental": {str(number): {}}})})
    server.take()
    rig.ask("more", "tools/call", {"_meta": envelope({"experimental": {"more": {}}})})
    assert rig.told_one()["error"]["code"] == -32603
    assert server.count("DELETE") == 0


def test_a_session_is_no_longer_in_use_once_its_request_is_given_up() -> None:
    rig, server = on_old_server()
    calls = []
    for number in range(MAX_SESSIONS):
        capabilities: Json = {"elicitation": {}, "experimental": {str(number): {}}}
        rig.ask(number, "tools/call", {"name": "t", "_meta": envelope(capabilities)})
        calls.append(server.take_one())
    server.ask(calls[0], 41, "elicitation/create", {"message": "?", "requestedSchema": {}})
    for _ in range(2):  # until the client has to come back with the answer, and is given up
        rig.fire("run:")
    server.take()
    rig.told()
    rig.ask("more", "tools/list", {"_meta": envelope({"experimental": {"more": {}}})})
    assert server.take_one().method == "tools/list"
    rig.fire("ending")
    assert server.count("DELETE") == 1


def test_a_session_that_is_being_made_is_in_use() -> None:
    rig, _ = on_old_server()
    for number in range(MAX_SESSIONS + 1):
        rig.ask(number, "tools/list", {"_meta": envelope({"experimental": {str(number): {}}})})
    assert [sent.method for sent in rig.got()] == ["initialize"] * MAX_SESSIONS
    assert rig.told_one()["id"] == MAX_SESSIONS


def test_a_session_with_a_listen_is_in_use() -> None:
    rig, server = on_old_server()
    for number in range(MAX_SESSIONS):
        rig.ask(
            number,
            "subscriptions/listen",
            {"notifications": {}, "_meta": envelope({"experimental": {str(number): {}}})},
        )
    server.take()
    rig.told()
    rig.ask("more", "tools/call", {"_meta": envelope({"experimental": {"more": {}}})})
    assert rig.told_one()["error"]["code"] == -32603


def test_no_more_wait_for_a_session_than_there_is_room_for() -> None:
    rig, _ = on_old_server(max_line=1000)
    for number in range(10):
        rig.ask_modern(number, "tools/call", {"name": "x" * 100})
    refused = [message for message in rig.told() if message["error"]["code"] == -32603]
    assert 0 < len(refused) < 10


def test_a_notification_of_an_extension_goes_up_in_the_session() -> None:
    rig, server, _ = calling()
    rig.say(notification("notifications/x", {"a": 1, "_meta": ENVELOPE}))
    sent = server.take_one()
    assert sent.body == notification("notifications/x", {"a": 1})


def test_a_notification_does_not_overtake_the_handshake() -> None:
    rig, _ = on_old_server()
    rig.ask_modern(1, "tools/list")
    rig.say(notification("notifications/x", {"_meta": ENVELOPE}))
    rig.succeed(rig.got_one(), OFFERED)
    assert rig.got_one().method == "notifications/initialized"


@pytest.mark.parametrize("meta", [envelope({"sampling": {}}), {PREFIX + "protocolVersion": ""}])
def test_a_notification_that_no_session_is_for_is_dropped(meta: Json) -> None:
    rig, server, _ = calling()
    rig.say(notification("notifications/x", {"_meta": meta}))
    assert server.take() == []


# -- cancellation and the end --


@pytest.mark.obligation(17, 18)
def test_a_cancelled_call_is_cancelled_at_the_server_and_its_late_answer_is_dropped() -> None:
    rig, server, sent = calling()
    rig.head(sent, 200, STREAM)
    rig.say(notification("notifications/cancelled", {"requestId": 1, "reason": "enough"}))
    told = server.take_one()
    params = {"requestId": sent.body["id"], "reason": "enough"}
    assert told.body == notification("notifications/cancelled", params)
    rig.body(sent, error(sent.body["id"], -32800, "Request cancelled"))
    rig.end(sent)
    assert rig.told() == []


def test_the_end_cancels_what_runs_and_ends_each_session() -> None:
    rig, server, _sent = calling()
    rig.ask(2, "tools/list", {"_meta": envelope({"sampling": {}})})
    server.take()
    rig.terminate()
    assert sorted(message["id"] for message in rig.told()) == [1, 2]
    assert rig.exit_code is None  # the server is still being told
    methods = [sent.method for sent in server.take()]
    assert methods.count("notifications/cancelled") == 2
    for timer in [timer for timer in rig.timers if timer.startswith("ending")]:
        rig.run_out(timer)
    assert server.count("DELETE") == 2
    assert rig.exit_code == 0


def test_the_end_of_the_client_waits_for_what_runs() -> None:
    rig, server, sent = calling()
    rig.close()
    assert rig.exit_code is None
    server.answer(sent, {"content": []})
    assert rig.told_one()["id"] == 1
    assert server.count("DELETE") == 1
    assert rig.exit_code == 0


def test_the_end_of_the_client_waits_for_what_waits_for_the_session() -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, "tools/list")
    rig.close()
    assert rig.exit_code is None
    server.answer(server.take_one(), {"tools": []})
    assert rig.told_one()["id"] == 1
    server.take()
    assert rig.exit_code == 0


def test_the_end_before_the_session_is_made_leaves_nothing_behind() -> None:
    rig, _server = on_old_server()
    rig.ask_modern(1, "tools/list")
    rig.terminate()
    assert rig.told_one()["error"]["code"] == -32603
    sent = rig.got_one()
    rig.reply(sent, result(sent.body["id"], OFFERED), headers={**JSON, "mcp-session-id": "s"})
    assert rig.got() == []
    assert rig.exit_code == 0


# -- a server that turns out to be of the other era, and one of HTTP+SSE --


def unsupported(sent: Sent) -> Json:
    return error(sent.body["id"], -32022, data={"supported": [MODERN]})


def on_a_doubted_server() -> tuple[Rig, OldServer]:
    """The server seemed to be a legacy one when it was probed."""
    rig = started(ProtocolEra.AUTO, transport=Transport.STREAMABLE_HTTP)
    rig.reply(rig.got_one(), status=405, headers={})
    return rig, OldServer(rig)


@pytest.mark.obligation(16)
def test_requests_that_wait_for_a_session_go_to_the_era_that_the_server_proves_to_have() -> None:
    rig, server = on_a_doubted_server()
    rig.ask_modern(1, "prompts/list")
    rig.ask_modern(2, "resources/list")
    initialize = rig.got_one()
    rig.reply(initialize, unsupported(initialize), status=400)
    rig.succeed(rig.got_one(), DISCOVERED)
    assert [sent.method for sent in rig.got()] == ["prompts/list", "resources/list"]
    assert server.take() == []
    assert rig.told() == []


@pytest.mark.obligation(16)
def test_a_contradiction_that_does_not_hold_leaves_the_session_as_it_was() -> None:
    rig, server = on_a_doubted_server()
    rig.ask_modern(1, "tools/call", {"name": "t"})
    call = server.take_one()
    rig.reply(call, unsupported(call), status=400)
    rig.reply(rig.got_one(), status=405, headers={})
    again = server.take_one()
    assert (again.method, again.headers["Mcp-Session-Id"]) == ("tools/call", "s1")
    server.answer(again, {"content": []})
    assert rig.told_one()["result"]["resultType"] == "complete"
    assert server.count("initialize") == 1


@pytest.mark.obligation(22)
def test_over_http_sse_a_question_belongs_to_the_only_request_that_runs() -> None:
    rig, _ = on_old_server(transport=Transport.SSE)
    rig.ask_modern(1, "tools/call", {"name": "t"})
    stream = rig.got_one()
    rig.head(stream, 200, STREAM)
    rig.feed(ServerSent(stream.exchange, b"/messages", "endpoint"))

    def taken() -> Sent:
        sent = rig.got_one()
        rig.reply(sent, status=202, headers={})
        return sent

    rig.body(stream, result(taken().body["id"], OFFERED))
    assert taken().method == "notifications/initialized"
    call = taken()
    rig.body(stream, {"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": {}})
    rig.fire("run:")
    wanted = rig.told_one()["result"]
    (key,) = wanted["inputRequests"]
    more = {"inputResponses": {key: {"action": "accept"}}, "requestState": wanted["requestState"]}
    rig.ask_modern(2, "tools/call", {"name": "t", **more})
    assert taken().body == result(5, {"action": "accept"})
    rig.body(stream, result(call.body["id"], {"content": []}))
    assert rig.told_one()["result"]["resultType"] == "complete"


def test_an_answer_to_a_request_that_was_given_up_goes_nowhere() -> None:
    pending: deque[Callable[[], list[Command]]] = deque()
    calls = OwnCalls(pending)
    call = calls.open("tools/list", {}, lambda _: [])
    calls.abandon(call)
    assert calls.fail(call, Problem(-32603, "late")) == []
    assert not pending


@pytest.mark.obligation(26)
def test_a_listen_at_a_server_that_turned_modern_is_told_to_be_lost() -> None:
    rig, server = on_a_doubted_server()
    rig.ask_modern("l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    server.take()
    assert rig.told_one()["method"] == "notifications/subscriptions/acknowledged"
    rig.ask_modern(1, "resources/read", {"uri": "x:a"})
    call = server.take_one()
    rig.reply(call, unsupported(call), status=400)
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.session.protocol_era is ProtocolEra.MODERN
    assert rig.told() == [notification("notifications/cancelled", {"requestId": "l"})]


def test_a_server_that_refuses_every_session_is_left_with_no_stream_open() -> None:
    rig, _ = on_old_server(transport=Transport.SSE)
    for number in range(3):
        rig.ask_modern(number, "tools/list")
        stream = rig.got_one()
        rig.head(stream, 200, STREAM)
        rig.feed(ServerSent(stream.exchange, b"/messages", "endpoint"))
        initialize = rig.got_one()
        rig.reply(initialize, status=202, headers={})
        rig.body(stream, error(initialize.body["id"], -32603))
        assert rig.told_one()["id"] == number
        assert rig.aborted[-1] == stream.exchange
