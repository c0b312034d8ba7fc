"""How HTTP+SSE sessions and their requests end: lost streams, cancellations, the last word."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest

from relay.core.commands import Command, Request, Verb
from relay.core.era import Context
from relay.core.events import Failure, ServerAnswered, ServerSent, TimerFired, TimerId
from relay.core.inflight import Inflight
from relay.core.legacy.http_sse import MAX_RELEASED, HttpSse
from relay.core.messages import RequestId
from relay.core.options import Options
from tests.relay.core.old_times import (
    ENDPOINT,
    accept,
    answer,
    asked,
    event,
    in_session,
    name_endpoint,
    on_sse,
    restore,
    shake_hands,
)
from tests.relay.core.rig import (
    INITIALIZED,
    INTRODUCTION,
    JSON,
    STREAM,
    error,
    notification,
    result,
)


def test_the_end_of_the_stream_ends_what_is_open_and_says_what_may_have_run() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    accept(rig, rig.got_one())
    rig.ask(2, "tools/list")
    accept(rig, rig.got_one())
    rig.end(stream)
    told = {message["id"]: message["error"] for message in rig.told()}
    assert told[1]["data"]["mayHaveExecuted"] is True
    assert "the call may have executed" in told[1]["message"]
    assert "mayHaveExecuted" not in told[2]["data"]
    assert "the server ended its event stream" in told[2]["message"]


@pytest.mark.obligation(27)
def test_a_session_that_is_lost_is_made_anew_without_the_client() -> None:
    rig, stream = in_session()
    rig.fail(stream, Failure.CLOSED)
    rig.ask(1, "tools/list")
    restored = restore(rig)
    answer(rig, restored, rig.got_one(), {"tools": []})
    assert rig.told_one() == result(1, {"tools": []})


def test_streams_that_break_one_after_the_other_are_asked_for_ever_more_slowly() -> None:
    rig, stream = in_session()
    pauses = []
    for _ in range(7):
        rig.end(stream)
        rig.ask("n", "ping")
        pauses += [rig.timers[timer] for timer in rig.timers if timer.startswith("sse-again")]
        stream = restore(rig)
        post = rig.got_one()
        assert post.method == "ping"
        rig.reply(post, b"", 500, {})
        rig.told()
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    rig.ask("well", "ping")
    answer(rig, stream, rig.got_one(), {})
    rig.end(stream)
    rig.ask("n", "ping")
    assert rig.timers[next(timer for timer in rig.timers if timer.startswith("sse-again"))] == 0.5


def test_an_answer_to_initialize_that_never_comes_is_told_when_the_stream_ends() -> None:
    rig, stream = asked()
    name_endpoint(rig, stream)
    accept(rig, rig.got_one())
    rig.end(stream)
    assert "error" in rig.told_one()
    assert rig.got() == []
    assert not any("session is lost" in text for text in rig.notices)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"Could not find session"),
        (400, b"No transport found for sessionId"),
        (404, msgspec.json.encode(error(None, -32600, "Session not found"))),
    ],
)
def test_a_request_to_a_session_that_is_no_more_is_sent_once_more_in_a_new_one(
    status: int, body: bytes
) -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/list")
    accept(rig, rig.got_one())
    rig.ask(2, "tools/call", {"name": "t"})
    rig.reply(rig.got_one(), body, status, JSON if body[:1] == b"{" else {})
    assert [message["id"] for message in rig.told()] == [1]
    assert stream.exchange in rig.aborted
    restored = restore(rig)
    post = rig.got_one()
    assert (post.method, post.target) == ("tools/call", ENDPOINT)
    answer(rig, restored, post, {"content": []})
    assert rig.told_one() == result(2, {"content": []})


def test_a_first_handshake_that_is_refused_is_no_loss_of_a_session() -> None:
    rig, stream = asked()
    name_endpoint(rig, stream)
    rig.reply(rig.got_one(), b"Could not find session", 404, {})
    assert rig.told_one()["error"]["data"]["status"] == 404
    assert rig.got() == []


def test_a_request_that_is_refused_as_such_costs_no_session() -> None:
    rig, stream = in_session()
    rig.ask(1, "ping")
    rig.reply(rig.got_one(), b"bad arguments", 400, {"content-type": "text/plain"})
    assert "error" in rig.told_one()
    assert rig.aborted == []
    rig.ask(2, "ping")
    answer(rig, stream, rig.got_one(), {})
    assert rig.told_one() == result(2, {})


def test_a_post_on_its_way_when_the_stream_ends_is_told_once() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    post = rig.got_one()
    rig.end(stream)
    assert rig.told_one()["id"] == 1
    rig.succeed(post, {"content": []})
    assert rig.told() == []


def test_what_brings_no_answer_outlives_the_stream() -> None:
    rig, stream = in_session()
    event(rig, stream, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    rig.say(result(1, {}))
    post = rig.got_one()
    rig.end(stream)
    accept(rig, post)
    assert [message.get("id") for message in rig.told()] == [1]
    assert not any(text.startswith("a response:") for text in rig.notices)


def test_the_clients_new_initialize_takes_a_new_stream() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/list")
    accept(rig, rig.got_one())
    rig.ask("init", "initialize", INTRODUCTION)
    assert rig.aborted == [stream.exchange]
    again = rig.got_one()
    assert again.verb is Verb.GET
    rig.fire("sse-reports")
    assert "the session begins anew" in rig.told_one()["error"]["message"]
    shake_hands(rig, again)


@pytest.mark.obligation(17)
def test_a_cancellation_is_a_message_and_the_late_answer_is_dropped() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    accept(rig, rig.got_one())
    rig.cancel(1)
    cancellation = rig.got_one()
    assert cancellation.target == ENDPOINT
    assert cancellation.body["params"] == {"requestId": 1}
    accept(rig, cancellation)
    event(rig, stream, result(1, {}))
    assert rig.told() == []
    assert rig.aborted == []


def test_a_request_that_is_not_accepted_yet_has_a_head_start_over_its_cancellation() -> None:
    rig, _ = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    post = rig.got_one()
    rig.cancel(1)
    assert rig.got() == []
    accept(rig, post)
    rig.fire("cancel:")
    assert rig.got_one().method == "notifications/cancelled"


def test_an_id_may_be_used_again_after_its_request_was_cancelled() -> None:
    rig, stream = in_session()
    for _ in range(2):
        rig.ask(1, "tools/call", {"name": "t"})
        accept(rig, rig.got_one())
        rig.cancel(1)
        accept(rig, rig.got_one())
    rig.ask(1, "ping")
    answer(rig, stream, rig.got_one(), {"second": True})
    assert rig.told_one() == result(1, {"second": True})


def test_at_the_end_open_calls_are_cancelled_before_the_stream_is_closed() -> None:
    rig, stream = in_session()
    rig.ask(1, "tools/call", {"name": "t"})
    accept(rig, rig.got_one())
    rig.close()
    rig.fire("drain")
    cancellation = rig.got_one()
    assert cancellation.body["params"] == {"requestId": 1}
    assert rig.aborted == []
    accept(rig, cancellation)
    assert rig.aborted == [stream.exchange]
    assert rig.exit_code == 0


def test_an_idle_session_is_closed_at_once() -> None:
    rig, stream = in_session()
    rig.close()
    assert rig.aborted == [stream.exchange]
    assert rig.exit_code == 0


def test_a_client_that_leaves_before_the_endpoint_came_is_not_waited_for() -> None:
    rig, stream = asked()
    rig.close()
    rig.fire("drain")
    assert stream.exchange in rig.aborted
    assert rig.exit_code == 0
    assert rig.timers == {}


def test_a_stream_that_was_refused_leaves_nothing_that_the_end_waits_for() -> None:
    rig = on_sse()
    rig.ask(0, "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), status=405, headers={})
    assert "error" in rig.told_one()
    rig.close()
    assert rig.exit_code == 0


def test_late_news_change_nothing() -> None:
    rig, stream = in_session()
    rig.end(stream)
    name_endpoint(rig, stream)
    rig.end(stream)
    rig.feed(TimerFired(TimerId("sse-endpoint:of-another")))
    assert (rig.told(), rig.got()) == ([], [])


# -- the channel by itself --


def test_the_post_of_an_answer_that_overtook_it_is_closed_if_it_never_ends() -> None:
    rig, stream = in_session()
    rig.ask(1, "ping")
    post = rig.got_one()
    event(rig, stream, result(1, {}))
    rig.fire("linger:")
    rig.fire("linger:")
    assert rig.aborted == [post.exchange]


def test_a_stream_that_no_request_has_used_is_good_for_the_first_session() -> None:
    rig = on_sse()
    rig.say(notification("notifications/early"))
    stream = rig.got_one()
    name_endpoint(rig, stream)
    accept(rig, rig.got_one())
    rig.ask("init", "initialize", INTRODUCTION)
    assert rig.got_one().method == "initialize"
    assert rig.aborted == []


def test_what_waits_without_an_answer_to_come_keeps_nobody_from_leaving() -> None:
    rig = on_sse()
    rig.say(notification("notifications/initialized"))
    stream = rig.got_one()
    rig.close()
    rig.fire("drain")
    assert stream.exchange in rig.aborted
    assert rig.exit_code == 0


def channel() -> HttpSse:
    return HttpSse(Context(Options(), Inflight(), count(1)))


def connect(sse: HttpSse, commands: list[Command]) -> list[Request]:
    """Name the endpoint of the stream that is asked for; return what is sent upon that."""
    (asked_for,) = [command for command in commands if isinstance(command, Request)]
    sse.receive(ServerAnswered(asked_for.exchange, 200, dict(STREAM)))
    arrivals = sse.receive(ServerSent(asked_for.exchange, b"/messages", "endpoint"))
    return [arrival for arrival in arrivals if isinstance(arrival, Request)]


def test_requests_that_nobody_wants_answered_are_forgotten_one_after_the_other() -> None:
    sse = channel()
    connect(sse, sse.notify("notifications/x", b"{}"))
    released = []
    for number in range(MAX_RELEASED + 1):
        exchange, _ = sse.post("ping", b"{}", expects=RequestId(b"%d" % number))
        sse.release(exchange)
        released.append(exchange)
    assert [sse.is_open(exchange) for exchange in released] == [False, *[True] * MAX_RELEASED]


def test_what_waited_when_the_channel_was_closed_is_never_sent() -> None:
    sse = channel()
    sse.notify("notifications/x", b"{}")
    sse.close()
    _, commands = sse.post("ping", b"{}", expects=RequestId(b"1"))
    assert len(connect(sse, commands)) == 1


@pytest.mark.parametrize("restored", [False, True])
def test_a_late_refusal_from_a_lost_session_does_not_touch_the_next_one(restored: bool) -> None:
    rig, stream = in_session()
    event(rig, stream, {"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    rig.say(result(1, {"roots": []}))
    late = rig.got_one()
    rig.end(stream)
    rig.fire("sse-again")
    stream = rig.got_one()
    if not restored:
        rig.reply(late, status=404, headers={})
    name_endpoint(rig, stream, "/messages/?session_id=8")
    answer(rig, stream, rig.got_one(), INITIALIZED)
    accept(rig, rig.got_one())
    rig.told()
    rig.ask(2, "tools/list")
    call = rig.got_one()
    if restored:
        rig.reply(late, status=404, headers={})
    answer(rig, stream, call, {"tools": []})
    assert rig.told_one() == result(2, {"tools": []})
