"""Exchanges that take more than one HTTP request: put off, out of reach, or broken off."""

from __future__ import annotations

from itertools import count

import pytest

from relay.core import retries
from relay.core.commands import Abort, SetTimer, Verb
from relay.core.events import Failure, ServerFailed, TimerFired
from relay.core.exchanges import MAX_NOTIFICATIONS, Accepted, Answered, Exchanges, Over
from tests.relay.core.bench import ANSWER, CALL, HEADERS, Bench, only

# -- put off --


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_that_is_put_off_is_sent_again_after_the_time_the_server_names(
    status: int,
) -> None:
    bench = Bench()
    bench.post()
    first = bench.last
    assert bench.head(status, retry_after="2") == []
    assert bench.aborted == [first.exchange]
    assert bench.exchanges.busy
    assert bench.wait() == 2
    assert bench.last.body == first.body
    assert bench.last.headers == first.headers
    assert bench.last.exchange != first.exchange
    bench.head()
    (answered,) = bench.sent(ANSWER)
    assert isinstance(answered, Answered)
    assert answered.exchange.call is bench.call


def test_a_date_is_read_against_the_servers_own_clock() -> None:
    bench = Bench()
    bench.post()
    date = "Tue, 01 Dec 2026 10:00:00 GMT"
    bench.head(429, retry_after="Tue, 01 Dec 2026 10:00:07 GMT", date=date)
    assert bench.wait() == 7
    bench.head(429, retry_after="Tue, 01 Dec 2026 09:00:00 GMT", date=date)
    assert bench.wait() == 0


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"retry_after": "61"},
        {"retry_after": "soon"},
        {"retry_after": "Tue, 01 Dec 2026 10:00:07 GMT"},
        {"retry_after": "Tue, 01 Dec 99999 10:00:07 GMT", "date": "x"},
    ],
)
def test_no_time_or_too_long_a_time_is_told_to_the_client(headers: dict[str, str]) -> None:
    bench = Bench()
    bench.post()
    bench.head(503, **headers)
    over = only(bench.ended())
    assert over.problem is not None
    assert not bench.waits


def test_a_server_that_puts_off_for_ever_is_told_to_the_client() -> None:
    bench = Bench()
    bench.post()
    for _ in range(retries.MAX_REFUSALS):
        assert bench.head(429, retry_after="1") == []
        bench.wait()
    bench.head(429, retry_after="1")
    over = only(bench.ended())
    assert over.problem is not None
    assert over.problem.data is not None
    assert over.problem.data["retryAfter"] == 1


def test_what_is_no_longer_wanted_is_not_sent_again() -> None:
    bench = Bench()
    exchange = bench.post()
    bench.head(429, retry_after="1")
    bench.take(bench.exchanges.release(exchange))
    assert not bench.waits
    assert not bench.exchanges.is_open(exchange)
    assert not bench.exchanges.busy


def test_what_is_no_longer_wanted_is_not_put_off_either() -> None:
    bench = Bench()
    bench.take(bench.exchanges.release(bench.post()))
    assert bench.head(429, retry_after="1") == []
    assert not bench.waits


def test_a_request_that_waits_can_be_aborted() -> None:
    bench = Bench()
    exchange = bench.post()
    bench.head(429, retry_after="1")
    assert bench.exchanges.of(bench.call) is exchange
    bench.take([bench.exchanges.abort(exchange)])
    assert not bench.waits
    assert bench.exchanges.of(bench.call) is None


def test_of_two_requests_that_wait_the_one_that_is_aborted_goes() -> None:
    bench = Bench()
    first = bench.post()
    bench.head(429, retry_after="1")
    second = bench.post("tools/list")
    bench.head(429, retry_after="2")
    bench.take([bench.exchanges.abort(second)])
    assert list(bench.exchanges) == [first]
    assert bench.wait() == 1


def test_the_end_of_a_session_is_said_once() -> None:
    bench = Bench()
    bench.requests.append(bench.exchanges.delete(HEADERS))
    assert bench.last.verb is Verb.DELETE
    assert bench.head(503, retry_after="1") == []
    assert only(bench.ended()).problem is not None
    bench.requests.append(bench.exchanges.delete(HEADERS))
    assert only(bench.failed(Failure.CONNECT, may_have_executed=False)).problem is not None


# -- out of reach --


def test_a_call_that_could_not_be_sent_is_tried_again_for_some_seconds() -> None:
    bench = Bench()
    bench.post()
    pauses = []
    for _ in retries.RECONNECT_SECONDS:
        assert bench.failed(Failure.CONNECT, may_have_executed=False) == []
        assert not bench.call.sent
        pauses.append(bench.wait())
        assert bench.call.sent
    assert pauses == list(retries.RECONNECT_SECONDS)
    assert bench.notices == ["tools/call could not be sent, trying again: why"], "said once"
    over = only(bench.failed(Failure.CONNECT, may_have_executed=False))
    assert over.failure is Failure.CONNECT
    assert over.problem is not None


def test_the_server_comes_back_meanwhile() -> None:
    bench = Bench()
    bench.post()
    bench.failed(Failure.CLOSED, may_have_executed=False)
    bench.wait()
    bench.head()
    assert isinstance(bench.sent(ANSWER)[0], Answered)


@pytest.mark.obligation(27)
def test_a_tool_call_that_may_have_run_is_not_sent_again() -> None:
    bench = Bench()
    bench.post("tools/call")
    over = only(bench.failed(Failure.CLOSED))
    assert over.problem is not None
    assert over.problem.data is not None
    assert over.problem.data["mayHaveExecuted"]
    assert len(bench.requests) == 1


@pytest.mark.parametrize(
    "method",
    [
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
    ],
)
def test_a_harmless_request_is_sent_again_once_if_its_connection_was_stale(method: str) -> None:
    bench = Bench()
    bench.post(method)
    assert bench.failed(Failure.CLOSED) == []
    assert bench.wait() == 0
    assert only(bench.failed(Failure.CLOSED)).failure is Failure.CLOSED


@pytest.mark.parametrize(
    "failure", [Failure.TLS, Failure.HEADERS_TIMEOUT, Failure.TOO_LARGE, Failure.PROTOCOL]
)
def test_other_failures_are_told_at_once(failure: Failure) -> None:
    bench = Bench()
    bench.post("tools/list")
    assert only(bench.failed(failure)).failure is failure


def test_what_broke_off_after_its_head_is_not_begun_again() -> None:
    bench = Bench()
    bench.post("tools/list", resumable=False)
    bench.stream()
    assert only(bench.failed(Failure.CLOSED)).problem is not None


def test_a_request_of_an_impatient_owner_is_tried_once() -> None:
    exchanges = Exchanges("test", count(1), patient=False)
    exchange, request = exchanges.post("server/discover", HEADERS, CALL.raw)
    (over,) = exchanges.receive(ServerFailed(request.exchange, Failure.CONNECT, "", False))
    assert isinstance(over, Over)
    assert over.exchange is exchange


# -- broken off --


@pytest.mark.obligation(33)
@pytest.mark.parametrize("broken", [True, False])
def test_a_stream_is_resumed_behind_its_last_event(broken: bool) -> None:
    bench = Bench()
    exchange = bench.post()
    bench.stream()
    bench.sent(event_id="7", retry=250)
    assert (bench.failed(Failure.CLOSED) if broken else bench.ended()) == []
    assert bench.exchanges.of(bench.call) is exchange
    assert bench.wait() == 0.25
    assert bench.last.verb is Verb.GET
    assert dict(bench.last.headers) == {
        "Accept": "text/event-stream",
        "Mcp-Session-Id": "s1",
        "MCP-Protocol-Version": "2025-11-25",
        "Last-Event-ID": "7",
    }
    assert bench.stream() == []
    (answered,) = bench.sent(ANSWER, event_id="8")
    assert isinstance(answered, Answered)
    assert bench.aborted == [bench.last.exchange], "it would stay open"
    assert not bench.exchanges.busy


def test_an_event_without_an_id_comes_after_the_last_one_that_had_one() -> None:
    bench = Bench()
    bench.post()
    bench.stream()
    bench.sent(event_id="7", retry=250)
    bench.sent(b'{"jsonrpc":"2.0","method":"notifications/x"}')
    assert bench.ended() == []
    assert bench.wait() == 0.25
    assert dict(bench.last.headers)["Last-Event-ID"] == "7"


def test_a_server_may_have_itself_polled_for_as_long_as_it_wants() -> None:
    bench = Bench()
    bench.post()
    for number in range(4 * retries.MAX_RESUMPTIONS):
        bench.stream()
        bench.sent(event_id=str(number))
        assert bench.ended() == []
        assert bench.wait() == retries.RESUME_SECONDS
        assert dict(bench.last.headers)["Last-Event-ID"] == str(number)


def test_a_stream_that_stays_silent_is_resumed_less_and_less_and_then_given_up() -> None:
    bench = Bench()
    bench.post()
    bench.stream()
    bench.sent(event_id="7", retry=100)
    assert bench.failed(Failure.CLOSED) == []
    pauses = []
    for _ in range(retries.MAX_RESUMPTIONS - 1):
        pauses.append(bench.wait())
        assert bench.failed(Failure.CONNECT, may_have_executed=False) == []
    pauses.append(bench.wait())
    over = only(bench.failed(Failure.CONNECT, may_have_executed=False))
    assert pauses == [0.1, 1, 2, 4, 8]
    assert over.failure is Failure.CLOSED, "how it began"
    assert over.problem is not None
    assert over.problem.data is not None
    assert over.problem.data["mayHaveExecuted"]


@pytest.mark.parametrize(
    ("status", "content_type"),
    [
        (200, "application/json"),
        (400, "application/json"),
        (404, "text/event-stream"),
        (405, ""),
    ],
)
def test_a_server_that_refuses_a_resumption_is_not_asked_again(
    status: int, content_type: str
) -> None:
    bench = Bench()
    exchange = bench.post()
    bench.stream()
    bench.sent(event_id="7")
    bench.ended()
    bench.wait()
    over = only(bench.head(status, content_type=content_type))
    assert over.problem is not None
    assert over.exchange is exchange
    assert exchange.status == 200, "the request itself was accepted"
    assert not bench.exchanges.busy


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_resumption_that_fails_in_passing_is_tried_again(status: int) -> None:
    bench = Bench()
    bench.post()
    bench.stream()
    bench.sent(event_id="7")
    bench.ended()
    bench.wait()
    assert bench.head(status) == []
    bench.wait()
    bench.stream()
    assert isinstance(bench.sent(ANSWER)[0], Answered)


@pytest.mark.obligation(34)
def test_a_stream_is_not_resumed_where_nothing_offers_it() -> None:
    bench = Bench()
    bench.post(resumable=False)
    bench.stream()
    bench.sent(event_id="7")
    assert only(bench.ended()).problem is not None

    bench = Bench()
    bench.post()
    bench.stream()
    bench.sent(b'{"jsonrpc":"2.0","method":"notifications/x"}')
    assert only(bench.ended()).problem is not None


def test_an_event_id_that_no_header_can_hold_is_left_out() -> None:
    bench = Bench()
    bench.post()
    bench.stream()
    bench.sent(event_id="sieben\r\n")
    bench.ended()
    bench.wait()
    assert "Last-Event-ID" not in dict(bench.last.headers)


def test_a_cancelled_call_is_not_resumed() -> None:
    bench = Bench()
    exchange = bench.post()
    bench.stream()
    bench.sent(event_id="7")
    bench.take(bench.exchanges.release(exchange))
    assert only(bench.ended()).problem is None
    assert not bench.waits


# -- the standing stream --


def test_a_standing_stream_is_open_until_it_ends_and_holds_nothing_up() -> None:
    bench = Bench()
    exchange, request = bench.exchanges.stream((("Accept", "text/event-stream"),))
    bench.requests.append(request)
    assert request.verb is Verb.GET
    assert request.standing
    assert bench.stream() == [Accepted(exchange)]
    assert not bench.exchanges.busy
    bench.sent(b'{"jsonrpc":"2.0","method":"notifications/x"}', event_id="3")
    assert exchange.last_event_id == "3"
    assert only(bench.ended()).problem is None


@pytest.mark.parametrize("status", [405, 503])
def test_a_refused_standing_stream_is_the_business_of_its_owner(status: int) -> None:
    bench = Bench()
    _, request = bench.exchanges.stream(())
    bench.requests.append(request)
    assert bench.head(status, retry_after="1") == []
    assert only(bench.ended()).problem is not None
    assert not bench.waits


# -- notifications --


def note(bench: Bench, number: int) -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/%d"}' % number
    bench.take(bench.exchanges.notify("notifications/x", lambda: HEADERS, body))


def test_notifications_reach_the_server_in_the_order_of_the_client() -> None:
    bench = Bench()
    for number in range(3):
        note(bench, number)
    assert len(bench.requests) == 1
    bench.head(202)
    assert len(bench.requests) == 2
    bench.failed(Failure.PROTOCOL)
    assert len(bench.requests) == 3
    bench.head(400)
    assert only([arrival for arrival in bench.ended() if isinstance(arrival, Over)]).problem
    assert [request.body[-3:-2] for request in bench.requests] == [b"0", b"1", b"2"]
    note(bench, 4)
    assert len(bench.requests) == 4


def test_a_notification_that_waits_for_a_connection_keeps_its_place() -> None:
    bench = Bench()
    note(bench, 0)
    note(bench, 1)
    bench.failed(Failure.CONNECT, may_have_executed=False)
    bench.wait()
    assert bench.last.body == bench.requests[0].body
    bench.head(202)
    assert bench.last.body != bench.requests[0].body


def test_waiting_notifications_are_bounded_and_the_newest_goes_with_a_warning() -> None:
    bench = Bench()
    for number in range(MAX_NOTIFICATIONS + 1):
        note(bench, number)
    assert not bench.notices
    note(bench, 0)
    assert "too many notifications" in bench.notices[0]


def test_a_notification_whose_stream_never_ends_lets_the_next_one_pass() -> None:
    bench = Bench()
    note(bench, 0)
    note(bench, 1)
    bench.stream()
    assert len(bench.requests) == 2


def test_what_is_released_later_does_not_put_off_the_end_of_what_lingers() -> None:
    bench = Bench()
    first = bench.post()
    (timer,) = [each for each in bench.exchanges.release(first) if isinstance(each, SetTimer)]
    assert bench.exchanges.receive(TimerFired(timer.timer)) == [timer]
    assert bench.exchanges.release(bench.post()) == []
    assert Abort(first.id) in bench.exchanges.receive(TimerFired(timer.timer))
