"""HTTP+SSE of 2024-11-05: POSTs to an endpoint, answers on a stream that is the session."""

from __future__ import annotations

import msgspec
import pytest

from relay.core.commands import Verb
from relay.core.events import Failure
from relay.core.session import ProtocolEra
from tests.relay.core.old_times import (
    ENDPOINT,
    accept,
    answer,
    asked,
    event,
    in_session,
    name_endpoint,
    on_sse,
    shake_hands,
)
from tests.relay.core.rig import (
    INTRODUCTION,
    JSON,
    STREAM,
    error,
    notification,
    result,
)

NO_ENDPOINT = "named no endpoint"


# -- the stream and its endpoint --


@pytest.mark.obligation(14)
def test_a_get_opens_the_stream_and_its_endpoint_takes_the_messages() -> None:
    rig = on_sse()
    assert rig.got() == []
    rig.ask("init", "initialize", INTRODUCTION)
    stream = rig.got_one()
    assert (stream.verb, stream.target) == (Verb.GET, "")
    assert stream.headers == {"Accept": "text/event-stream"}
    name_endpoint(rig, stream)
    post = rig.got_one()
    assert (post.verb, post.target, post.method) == (Verb.POST, ENDPOINT, "initialize")
    assert post.headers == {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    assert rig.timers == {}


def test_no_probe_is_sent_as_the_transport_tells_the_era() -> None:
    rig = on_sse(ProtocolEra.AUTO)
    assert rig.session.protocol_era is ProtocolEra.LEGACY
    assert rig.got() == []


def test_a_session_bears_no_header_of_later_revisions() -> None:
    rig, _ = in_session()
    rig.ask(1, "tools/list")
    headers = rig.got_one().headers
    assert not {"MCP-Protocol-Version", "Mcp-Session-Id", "Mcp-Method"} & set(headers)


def test_a_later_endpoint_event_changes_nothing() -> None:
    rig, stream = in_session()
    event(rig, stream, "/elsewhere", "endpoint")
    rig.ask(1, "ping")
    assert rig.got_one().target == ENDPOINT


def test_a_server_that_names_no_endpoint_is_given_up_in_time() -> None:
    rig, stream = asked(probe_timeout=3.0)
    assert list(rig.timers.values()) == [3.0]
    rig.head(stream, headers=STREAM)
    event(rig, stream, b"", "ping")
    rig.fire("sse-endpoint")
    told = rig.told_one()["error"]
    assert NO_ENDPOINT in told["message"]
    assert "--transport streamable-http" in told["data"]["hint"]
    assert rig.aborted == [stream.exchange]
    assert rig.timers == {}


@pytest.mark.parametrize("endpoint", ["", "  ", "/a\x00b", "/a\nb"])
def test_an_endpoint_that_is_no_reference_is_none(endpoint: str) -> None:
    rig, stream = asked()
    name_endpoint(rig, stream, endpoint)
    assert NO_ENDPOINT in rig.told_one()["error"]["message"]
    assert rig.aborted == [stream.exchange]
    assert rig.got() == []


@pytest.mark.parametrize(
    ("status", "headers", "body", "named"),
    [
        (404, {}, b"", "no such endpoint (HTTP 404)"),
        (401, {"www-authenticate": "Bearer"}, b"", "HTTP 401"),
        (405, {"content-type": "text/html"}, b"<html>", "HTTP 405"),
        (200, {"content-type": "text/html"}, b"<html>", NO_ENDPOINT),
        (200, JSON, b'{"jsonrpc":"2.0","id":1,"result":{}}', NO_ENDPOINT),
        (200, STREAM, b"", NO_ENDPOINT),
    ],
)
def test_a_get_that_brings_no_stream_is_told_at_once(
    status: int, headers: dict[str, str], body: bytes, named: str
) -> None:
    rig, stream = asked()
    rig.reply(stream, body, status, headers)
    assert named in rig.told_one()["error"]["message"]
    assert rig.timers == {}
    rig.ask("again", "initialize", INTRODUCTION)
    name_endpoint(rig, rig.got_one())
    assert rig.got_one().body["id"] == "again"


def test_a_server_that_starts_late_is_waited_for_and_the_operator_is_told_once() -> None:
    rig, stream = asked()
    rig.fail(stream, Failure.CONNECT)
    rig.fire("sse-again")
    rig.reply(rig.got_one(), status=503, headers={})
    rig.fire("sse-again")
    rig.reply(rig.got_one(), status=429, headers={})
    rig.fire("sse-again")
    assert [text for text in rig.notices if text.startswith("the event stream")] == [
        "the event stream: cannot reach the server: 10.0.0.1:80"
    ]
    shake_hands(rig, rig.got_one())


def test_a_server_that_stays_away_is_told_by_its_own_failure() -> None:
    rig, stream = asked()
    rig.fail(stream, Failure.CONNECT)
    rig.fire("sse-again")
    rig.fail(rig.got_one(), Failure.CONNECT)
    rig.fire("sse-endpoint")
    told = rig.told_one()["error"]
    assert "cannot reach the server" in told["message"]
    assert "mayHaveExecuted" not in told["data"]
    assert rig.timers == {}


def test_what_held_up_one_stream_is_not_told_of_the_next() -> None:
    rig, stream = asked()
    rig.fail(stream, Failure.CONNECT)
    rig.fire("sse-endpoint")
    assert "cannot reach" in rig.told_one()["error"]["message"]
    rig.ask("again", "initialize", INTRODUCTION)
    rig.head(rig.got_one(), headers=STREAM)
    rig.fire("sse-endpoint")
    assert NO_ENDPOINT in rig.told_one()["error"]["message"]


def test_a_refusal_of_the_stream_is_shown_as_it_begins() -> None:
    rig, stream = asked()
    rig.reply(stream, b"<html>go away</html>", 403, {"content-type": "text/html"})
    assert rig.told_one()["error"]["data"]["snippet"] == "<html>go away</html>"


def test_an_event_without_data_is_not_worth_a_word() -> None:
    rig, stream = in_session()
    before = len(rig.notices)
    event(rig, stream, b"")
    assert rig.notices[before:] == []


def test_a_failure_that_will_not_pass_is_told_at_once() -> None:
    rig, stream = asked()
    rig.fail(stream, Failure.TLS)
    assert rig.told_one()["error"]["data"]["failure"] == "tls"


def test_what_waits_for_the_endpoint_is_sent_in_order_notifications_too() -> None:
    rig = on_sse()
    rig.say(notification("notifications/a"))
    stream = rig.got_one()
    rig.ask(1, "ping")
    rig.say(notification("notifications/b"))
    name_endpoint(rig, stream)
    first, ping = rig.got()
    assert [first.method, ping.method] == ["notifications/a", "ping"]
    accept(rig, first)
    assert rig.got_one().method == "notifications/b"


def test_a_notification_that_waited_in_vain_is_named_to_the_operator() -> None:
    rig = on_sse()
    rig.say(notification("notifications/a"))
    rig.reply(rig.got_one(), status=404, headers={})
    assert rig.notices[-1].startswith("notifications/a: the server knows no such endpoint")


def test_what_waits_is_bounded_in_number() -> None:
    rig = on_sse()
    for number in range(70):
        rig.ask(number, "ping")
    rig.say(notification("notifications/x"))
    assert "too many messages wait" in rig.notices[-1]
    rig.fire("sse-reports")
    refused = rig.told()
    assert [message["id"] for message in refused] == list(range(64, 70))
    assert {message["error"]["code"] for message in refused} == {-32603}


def test_what_waits_is_bounded_in_bytes_but_one_message_always_may() -> None:
    rig = on_sse(max_line=1000)
    rig.ask(1, "ping", {"a": "x" * 2000})
    rig.ask(2, "ping")
    rig.fire("sse-reports")
    assert [message["id"] for message in rig.told()] == [2]


def test_a_request_cancelled_while_it_waits_is_never_sent() -> None:
    rig = on_sse()
    rig.ask(1, "ping")
    stream = rig.got_one()
    rig.ask(2, "ping")
    rig.cancel(1)
    name_endpoint(rig, stream)
    assert [post.body["id"] for post in rig.got()] == [2]
    assert rig.told() == []


# -- answers --


def test_the_answer_comes_on_the_stream_and_the_body_of_the_post_means_nothing() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    answer(rig, stream, rig.got_one(), {"content": []})
    assert rig.told_one() == result(1, {"content": []})
    assert not rig.timers


def test_an_answer_may_overtake_the_acceptance() -> None:
    rig, stream = in_session()
    rig.ask(1, "ping")
    post = rig.got_one()
    event(rig, stream, result(1, {}))
    assert rig.told_one() == result(1, {})
    accept(rig, post)
    assert rig.told() == []


def test_an_answer_in_the_body_of_the_post_is_taken_as_well() -> None:
    rig, stream = in_session()
    rig.ask(1, "ping")
    rig.succeed(rig.got_one(), {})
    assert rig.told_one() == result(1, {})
    event(rig, stream, result(1, {"again": True}))
    assert rig.told() == []


def test_what_the_server_says_beside_an_answer_in_a_body_is_passed_on() -> None:
    rig, _ = in_session()
    rig.ask(1, "ping")
    post = rig.got_one()
    rig.head(post, headers=STREAM)
    note = notification("notifications/progress", {"progressToken": 1})
    rig.body(post, note)
    rig.body(post, result(1, {}))
    assert rig.told() == [note, result(1, {})]


def test_answers_find_their_requests_in_any_order() -> None:
    rig, stream = in_session()
    for request_id in (1, "1", 2):
        rig.ask(request_id, "ping")
        accept(rig, rig.got_one())
    for request_id in (2, "1", 1):
        event(rig, stream, result(request_id, {"for": request_id}))
    assert [message["id"] for message in rig.told()] == [2, "1", 1]


def test_a_batch_on_the_stream_is_taken_apart() -> None:
    rig, stream = in_session()
    rig.ask(1, "ping")
    rig.ask(2, "ping")
    both = msgspec.json.encode([result(1, {}), error(2, -32602)])
    event(rig, stream, both)
    assert [message["id"] for message in rig.told()] == [1, 2]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"not json", "message"),
        (b"", "message"),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', "ping"),
        (b'{"jsonrpc":"2.0","id":"other","result":{}}', "message"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}', "message"),
    ],
)
def test_what_is_no_answer_answers_nothing(data: bytes, name: str) -> None:
    rig, stream = in_session()
    rig.ask(1, "ping")
    accept(rig, rig.got_one())
    event(rig, stream, data, name)
    assert rig.told() == []
    event(rig, stream, result(1, {}))
    assert rig.told_one() == result(1, {})


def test_the_server_may_ask_and_is_answered_at_the_endpoint() -> None:
    rig, stream = in_session()
    question = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    event(rig, stream, question)
    assert rig.told_one() == question
    rig.say(result(1, {"roots": []}))
    post = rig.got_one()
    assert (post.target, post.body) == (ENDPOINT, result(1, {"roots": []}))
    accept(rig, post)


def test_a_refused_post_is_an_error_and_a_late_answer_is_dropped() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    rig.reply(rig.got_one(), b"oops", 500, {"content-type": "text/plain"})
    told = rig.told_one()["error"]
    assert told["data"]["status"] == 500
    assert told["data"]["mayHaveExecuted"] is True
    event(rig, stream, result(1, {}))
    assert rig.told() == []


def test_an_error_in_the_body_of_a_refusal_reaches_the_client() -> None:
    rig, _ = in_session()
    rig.ask(1, "tools/list")
    rig.reply(rig.got_one(), error(None, -32602, "bad"), 400)
    assert rig.told_one() == error(1, -32602, "bad")


def test_a_post_that_cannot_be_sent_to_the_endpoint_is_an_error() -> None:
    rig, _ = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    rig.fail(rig.got_one(), Failure.PROTOCOL)
    told = rig.told_one()["error"]
    assert "mayHaveExecuted" not in told["data"]


def test_a_call_that_was_never_sent_when_the_stream_ends_has_not_run() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    rig.fail(rig.got_one(), Failure.CONNECT)
    rig.end(stream)
    assert "mayHaveExecuted" not in rig.told_one()["error"]["data"]
    assert not any(timer.startswith("again:") for timer in rig.timers)


def test_an_answer_in_the_body_of_the_post_that_breaks_off_is_an_error() -> None:
    rig, _ = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    post = rig.got_one()
    rig.head(post, headers=JSON)
    rig.fail(post, Failure.CLOSED, may_have_executed=True)
    assert rig.told_one()["error"]["data"]["mayHaveExecuted"] is True


def test_an_acceptance_that_breaks_off_is_one_all_the_same() -> None:
    rig, stream = in_session()
    rig.ask(1, "ping")
    post = rig.got_one()
    rig.head(post, 202, {})
    rig.fail(post, Failure.CLOSED, may_have_executed=True)
    assert rig.told() == []
    event(rig, stream, result(1, {}))
    assert rig.told_one() == result(1, {})


def test_a_refused_notification_is_for_the_operator_alone() -> None:
    rig, _ = in_session()
    rig.say(notification("notifications/roots/list_changed"))
    rig.reply(rig.got_one(), b"no", 400, {})
    assert rig.told() == []
    assert "notifications/roots/list_changed" in rig.notices[-1]
