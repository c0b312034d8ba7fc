"""What outlives a legacy session, and what ends with it."""

from __future__ import annotations

import msgspec
import pytest

from relay.core import messages
from relay.core.commands import Emit, Request
from relay.core.era import Context
from relay.core.events import ServerAnswered, ServerSent
from relay.core.inflight import FromClient, Inflight
from relay.core.legacy.memory import MAX_SUBSCRIPTIONS
from relay.core.legacy.open_questions import MAX_QUESTIONS
from relay.core.legacy.recovery import REPLAYS_AT_ONCE
from relay.core.legacy.session import LegacySession
from relay.core.legacy.streamable import StreamableHttp
from relay.core.messages import RequestId, parse_client
from relay.core.options import Options
from relay.core.session import ProtocolEra
from tests.relay.core.losing import SESSION, accept, calling, lose, restored
from tests.relay.core.rig import (
    INITIALIZED,
    INTRODUCTION,
    JSON,
    STREAM,
    Json,
    error,
    notification,
    on_legacy,
    result,
    started,
)

ONE = RequestId(b"1")


# -- what the new session hears again --


@pytest.mark.obligation(31)
def test_log_level_and_subscriptions_are_set_again_before_anything_else() -> None:
    rig = on_legacy()
    accept(rig, 1, "logging/setLevel", {"level": "info"})
    accept(rig, 2, "logging/setLevel", {"level": "debug"})
    for number, uri in enumerate(["a:1", "a:2", "a:1", "a:3"], 3):
        accept(rig, number, "resources/subscribe", {"uri": uri})
    accept(rig, 8, "resources/unsubscribe", {"uri": "a:2"})
    _, call = calling(rig, 9)
    waited = restored(rig, lose(rig, call))
    said = [(sent.method, sent.body["params"]) for sent in waited]
    assert said == [
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", {"uri": "a:1"}),
        ("resources/subscribe", {"uri": "a:3"}),
        ("tools/call", {"name": "t"}),
    ]
    for sent in waited[:-1]:
        assert sent.headers[SESSION] == "s2"
        rig.succeed(sent, {})
    updated = "notifications/resources/updated"
    assert rig.told() == [notification(updated, {"uri": uri}) for uri in ("a:1", "a:3")]


def test_what_was_accepted_without_params_is_said_again_with_none_in_them() -> None:
    rig = on_legacy()
    rig.ask(1, "logging/setLevel")
    rig.succeed(rig.got_one(), {})
    rig.told()
    _, call = calling(rig, 9)
    level, _ = restored(rig, lose(rig, call))
    assert (level.method, level.body["params"]) == ("logging/setLevel", {})


def test_what_the_server_has_refused_is_not_said_again() -> None:
    rig = on_legacy()
    refused: list[tuple[str, Json]] = [
        ("logging/setLevel", {"level": "loud"}),
        ("resources/subscribe", {"uri": "a:1"}),
    ]
    for number, (method, params) in enumerate(refused):
        rig.ask(number, method, params)
        rig.reply(rig.got_one(), error(number, -32602))
        assert rig.told_one()["error"]["code"] == -32602
    accept(rig, 3, "resources/subscribe", {"uri": 7})
    _, call = calling(rig, 9)
    assert [sent.method for sent in restored(rig, lose(rig, call))] == ["tools/call"]


def test_a_new_session_may_refuse_what_it_hears_again() -> None:
    rig = on_legacy()
    accept(rig, 1, "resources/subscribe", {"uri": "a:1"})
    accept(rig, 2, "resources/subscribe", {"uri": "a:2"})
    _, call = calling(rig, 9)
    first, second, _ = restored(rig, lose(rig, call))
    rig.reply(first, error(first.body["id"], -32601, "unknown method"))
    rig.reply(second, b"", 500)
    assert rig.told() == []
    assert "the new session refuses resources/subscribe: unknown method" in rig.notices
    assert "resources/subscribe: the server failed (HTTP 500)" in rig.notices


def test_a_new_session_is_not_flooded_with_what_it_hears_again() -> None:
    rig = on_legacy()
    for number in range(REPLAYS_AT_ONCE + 2):
        accept(rig, number, "resources/subscribe", {"uri": f"a:{number}"})
    _, call = calling(rig, 99)
    *said, again = restored(rig, lose(rig, call))
    assert len(said) == REPLAYS_AT_ONCE
    assert again.raw == call.raw
    for sent in said:
        rig.succeed(sent, {})
    assert [sent.body["params"]["uri"] for sent in rig.got()] == ["a:8", "a:9"]


def test_what_fails_to_be_heard_again_does_not_hold_up_the_rest() -> None:
    rig = on_legacy()
    for number in range(REPLAYS_AT_ONCE + 2):
        accept(rig, number, "resources/subscribe", {"uri": f"a:{number}"})
    _, call = calling(rig, 99)
    *said, _ = restored(rig, lose(rig, call))
    for sent in said:
        rig.reply(sent, b"", 500)
    assert [sent.body["params"]["uri"] for sent in rig.got()] == ["a:8", "a:9"]


def test_what_the_client_has_taken_back_meanwhile_is_not_said_again() -> None:
    rig = on_legacy()
    for number in range(REPLAYS_AT_ONCE + 2):
        accept(rig, number, "resources/subscribe", {"uri": f"a:{number}"})
    _, call = calling(rig, 99)
    *said, _ = restored(rig, lose(rig, call))
    accept(rig, 100, "resources/unsubscribe", {"uri": "a:8"})
    for sent in said:
        rig.succeed(sent, {})
    assert [sent.body["params"]["uri"] for sent in rig.got()] == ["a:9"]


def test_a_session_lost_before_it_has_heard_all_again_leaves_that_to_the_next() -> None:
    rig = on_legacy()
    for number in range(REPLAYS_AT_ONCE + 2):
        accept(rig, number, "resources/subscribe", {"uri": f"a:{number}"})
    _, call = calling(rig, 99)
    *_, again = restored(rig, lose(rig, call))
    rig.succeed(again, {})
    _, call = calling(rig, 100)
    *said, again = restored(rig, lose(rig, call), "s3")
    assert [sent.body["params"]["uri"] for sent in said] == [f"a:{n}" for n in range(8)]
    assert again.raw == call.raw


def test_what_was_said_before_the_client_started_over_is_not_said_again() -> None:
    rig = on_legacy()
    accept(rig, 1, "resources/subscribe", {"uri": "a:1"})
    rig.ask("mine", "initialize", INTRODUCTION)
    headers = {**JSON, "mcp-session-id": "s2"}
    rig.reply(rig.got_one(), result("mine", INITIALIZED), headers=headers)
    rig.told()
    _, call = calling(rig, 2)
    assert [sent.method for sent in restored(rig, lose(rig, call), "s3")] == ["tools/call"]


def test_the_memory_of_subscriptions_is_bounded() -> None:
    rig = on_legacy()
    for number in range(MAX_SUBSCRIPTIONS + 1):
        accept(rig, number, "resources/subscribe", {"uri": f"a:{number}"})
    assert "too many subscriptions" in rig.notices[-1]


def test_a_subscription_that_the_lost_session_accepts_late_is_made_in_the_new_one() -> None:
    rig = on_legacy()
    rig.ask(1, "resources/subscribe", {"uri": "a:1"})
    late = rig.got_one()
    _, call = calling(rig, 2)
    restored(rig, lose(rig, call))
    rig.succeed(late, {})
    assert rig.told() == []
    again = rig.got_one()
    assert (again.raw, again.headers[SESSION]) == (late.raw, "s2")


def test_a_client_whose_server_has_other_capabilities_fetches_its_lists_again() -> None:
    rig, call = calling()
    capabilities = {"tools": {}, "prompts": {"listChanged": True}, "logging": {}}
    restored(rig, lose(rig, call), capabilities=capabilities)
    assert [message["method"] for message in rig.told()] == [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
    ]
    assert "the server's capabilities are not what they were" in rig.notices


def test_a_client_fetches_again_the_lists_whose_changes_it_was_promised_to_hear_of() -> None:
    offered = {"tools": {"listChanged": True}, "prompts": {"listChanged": False}, "resources": {}}
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    answer = result("init", {**INITIALIZED, "capabilities": offered})
    rig.reply(rig.got_one(), answer, headers={**JSON, "mcp-session-id": "s1"})
    rig.told()
    _, call = calling(rig)
    restored(rig, lose(rig, call), capabilities=offered)
    assert rig.told_one() == notification("notifications/tools/list_changed")
    assert not any("another protocol revision" in text for text in rig.notices)
    assert "the server's capabilities are not what they were" not in rig.notices


def test_a_session_is_made_for_a_client_that_has_introduced_itself_elsewhere() -> None:
    inflight, numbers = Inflight(), iter(range(1, 1000))
    context = Context(Options(protocol_era=ProtocolEra.LEGACY), inflight, numbers)
    said = parse_client(messages.request(ONE, "initialize", {"a": msgspec.Raw(b"1.10")}))
    session = LegacySession(context, StreamableHttp(context), initialize=said)
    response = FromClient(parse_client(b'{"jsonrpc":"2.0","id":5,"result":{}}'))
    assert not any(isinstance(command, Request) for command in session.receive(response))
    asked = parse_client(messages.request(ONE, "tools/list", {}))
    commands = session.receive(FromClient(asked, inflight.admit(asked, ONE)))
    (handshake,) = [command for command in commands if isinstance(command, Request)]
    assert b'"params":{"a":1.10}' in handshake.body
    request_id = msgspec.json.decode(handshake.body)["id"]
    answer = msgspec.json.encode(result(request_id, INITIALIZED))
    session.receive(ServerAnswered(handshake.exchange, 200, JSON))
    commands = session.receive(ServerSent(handshake.exchange, answer))
    told = [msgspec.json.decode(each.line) for each in commands if isinstance(each, Emit)]
    assert [message["method"] for message in told] == ["notifications/tools/list_changed"]
    (initialized,) = [command for command in commands if isinstance(command, Request)]
    commands = session.receive(ServerAnswered(initialized.exchange, 202, {}))
    assert [each.body for each in commands if isinstance(each, Request)] == [b"", asked.raw]


# -- what the server had asked --


@pytest.mark.obligation(2)
def test_a_question_of_a_lost_session_is_taken_back_and_its_answer_dropped() -> None:
    rig, asking = calling()
    rig.head(asking, 200, STREAM)
    rig.body(asking, {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create"})
    rig.told()
    _, call = calling(rig, 2)
    handshake = lose(rig, call)
    taken_back = rig.told_one()
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"]["requestId"] == 1
    rig.say(result(1, {"action": "accept"}))
    assert rig.got() == []
    restored(rig, handshake)
    rig.say(result(1, {"action": "accept"}))
    assert rig.got_one().headers[SESSION] == "s2"


def test_an_answer_owed_to_a_lost_session_does_not_pass_for_one_to_the_next() -> None:
    rig, asking = calling()
    rig.head(asking, 200, STREAM)
    question: Json = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"m": 1}}
    rig.body(asking, question)
    _, call = calling(rig, 2)
    (again,) = restored(rig, lose(rig, call))
    rig.told()
    rig.head(again, 200, STREAM)
    for answer in (result(1, {"action": "accept"}), error(1, -32603)):
        rig.body(again, question)
        asked = rig.told_one()
        assert asked["id"] != 1
        assert asked["params"] == {"m": 1}
        rig.say({**answer, "id": asked["id"]})
        assert rig.got_one().body == answer
    rig.say(result(1, {"action": "decline"}))  # at last, what is owed to the lost session
    assert rig.got() == []
    rig.body(again, question)
    assert rig.told_one() == question


def test_a_question_that_the_server_takes_back_is_over() -> None:
    rig, asking = calling()
    rig.head(asking, 200, STREAM)
    question: Json = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create"}
    cancellation = notification("notifications/cancelled", {"requestId": 1})
    for message in (question, cancellation, cancellation, notification("notifications/cancelled")):
        rig.body(asking, message)
        assert rig.told_one() == message
    _, call = calling(rig, 2)
    (again,) = restored(rig, lose(rig, call))
    assert rig.told() == []
    rig.head(again, 200, STREAM)
    rig.body(again, question)
    assert rig.told_one() == question


def test_a_question_known_under_another_id_is_taken_back_under_that() -> None:
    rig, asking = calling()
    rig.head(asking, 200, STREAM)
    question: Json = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create"}
    rig.body(asking, question)
    _, call = calling(rig, 2)
    (again,) = restored(rig, lose(rig, call))
    rig.told()
    rig.head(again, 200, STREAM)
    rig.body(again, question)
    known = rig.told_one()["id"]
    rig.body(again, notification("notifications/cancelled", {"requestId": 1, "reason": "late"}))
    taken_back = rig.told_one()
    assert taken_back["params"] == {"requestId": known, "reason": "late"}


def test_a_lost_session_asks_nothing_more() -> None:
    rig, asking = calling()
    rig.head(asking, 200, STREAM)
    _, call = calling(rig, 2)
    lose(rig, call)
    rig.body(asking, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    rig.body(asking, notification("notifications/progress"))
    assert rig.told_one()["method"] == "notifications/progress"


def test_the_memory_of_questions_is_bounded() -> None:
    rig, asking = calling()
    rig.head(asking, 200, STREAM)
    for session in range(2):
        for number in range(MAX_QUESTIONS + 1):
            rig.body(asking, {"jsonrpc": "2.0", "id": f"{session}-{number}", "method": "ping"})
        rig.told()
        rig.say(result(f"{session}-0", {}))  # forgotten, and passed on
        assert rig.got_one().body["id"] == f"{session}-0"
        _, call = calling(rig, 10 + session)
        (asking,) = restored(rig, lose(rig, call))
        rig.head(asking, 200, STREAM)
        assert len(rig.told()) == MAX_QUESTIONS
    rig.say(error(None, -32700))
    rig.say(result("0-9", {}))  # its session is forgotten as well
    assert [sent.body["id"] for sent in rig.got()] == [None, "0-9"]
