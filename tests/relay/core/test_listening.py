"""One stream after the other: changes of what is listened to, losses and ends."""

from __future__ import annotations

import pytest

from relay.core.events import Failure, TimerFired, TimerId
from relay.core.modern.listening import (
    MAX_OLD,
    MAX_OVERLAP,
    MAX_RETRY_SECONDS,
    OVERLAP_SECONDS,
)
from tests.relay.core.listens import (
    LISTEN,
    NO_LISTS,
    TOOLS_CHANGED,
    UPDATED,
    acknowledge,
    asked,
    client,
    subscribe,
    subscribed,
    tell,
    time_of,
    timer_of,
    unsubscribe,
    updated,
)
from tests.relay.core.rig import (
    STREAM,
    Rig,
    Sent,
    error,
    expire,
    notification,
    result,
)

# -- one stream after the other --


def test_the_old_stream_speaks_until_the_new_one_is_acknowledged() -> None:
    rig, old = subscribed("a://1")
    subscribe(rig, 7, "a://2")
    new = rig.got_one()
    assert asked(new) == {"resourceSubscriptions": ["a://1", "a://2"]}
    tell(rig, old, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")
    acknowledge(rig, new)
    assert rig.told_one() == result(7, {})
    assert rig.aborted == []
    assert time_of(rig, old) == OVERLAP_SECONDS
    assert time_of(rig, new) is None
    expire(rig, timer_of(old))
    assert rig.aborted == [old.exchange]
    tell(rig, new, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")


def overlapping() -> tuple[Rig, Sent, Sent]:
    rig, old = subscribed("a://1")
    subscribe(rig, 7, "a://2")
    new = rig.got_one()
    acknowledge(rig, new)
    rig.told()
    return rig, old, new


@pytest.mark.parametrize("first", ["old", "new"])
def test_what_both_streams_tell_is_passed_on_once(first: str) -> None:
    rig, old, new = overlapping()
    for stream in (old, new) if first == "old" else (new, old):
        tell(rig, stream, UPDATED, uri="a://1")
        tell(rig, stream, UPDATED, uri="a://1")
    assert rig.told() == [updated("a://1")] * 2


def test_the_timers_of_others_change_nothing_in_the_overlap() -> None:
    rig, old, new = overlapping()
    tell(rig, old, UPDATED, uri="a://1")
    rig.feed(TimerFired(TimerId("somebody's")))
    tell(rig, new, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")


def test_what_was_on_its_way_on_the_old_stream_is_not_lost() -> None:
    rig, old, new = overlapping()
    tell(rig, old, UPDATED, uri="a://1")
    tell(rig, old, UPDATED, uri="a://1")
    tell(rig, new, UPDATED, uri="a://2")
    tell(rig, new, UPDATED, uri="a://1")
    assert rig.told() == [updated("a://1"), updated("a://1"), updated("a://2")]


def test_what_a_vendor_says_is_passed_on_from_the_new_stream_alone() -> None:
    rig, old, new = overlapping()
    tell(rig, old, "vendor/hint")
    tell(rig, new, "vendor/hint")
    assert rig.told_one()["method"] == "vendor/hint"


def test_the_end_of_the_old_stream_is_no_loss() -> None:
    rig, old, new = overlapping()
    rig.fail(old, Failure.CLOSED)
    assert (rig.told(), rig.got()) == ([], [])
    tell(rig, new, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")
    assert (time_of(rig, old), rig.aborted) == (None, [])


def test_what_was_on_its_way_is_not_lost_over_several_changes() -> None:
    rig, first, second = overlapping()
    subscribe(rig, 8, "a://3")
    third = rig.got_one()
    acknowledge(rig, third)
    rig.told()
    tell(rig, first, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")
    expire(rig, timer_of(first))
    tell(rig, second, UPDATED, uri="a://1")
    tell(rig, third, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")
    expire(rig, timer_of(second))
    assert rig.aborted == [first.exchange, second.exchange]


def test_the_loss_of_a_stream_that_was_about_to_be_replaced_is_soon_forgotten() -> None:
    rig, old = subscribed("a://1")
    subscribe(rig, 7, "a://2")
    new = rig.got_one()
    rig.fail(old, Failure.CLOSED)
    acknowledge(rig, new)
    subscribe(rig, 8, "a://3")
    assert asked(rig.got_one()) == {"resourceSubscriptions": ["a://1", "a://2", "a://3"]}


def test_only_so_many_old_streams_are_kept() -> None:
    rig, first = subscribed("a://1")
    for number in range(2, MAX_OLD + 3):
        assert rig.aborted == []
        subscribe(rig, number, f"a://{number}")
        acknowledge(rig, rig.got_one())
    assert rig.aborted == [first.exchange]


def test_the_overlap_ends_early_when_too_much_changes_in_it() -> None:
    rig, old, new = overlapping()
    for number in range(MAX_OVERLAP + 1):
        tell(rig, new, UPDATED, uri=f"a://1/{number}")
    assert len(rig.told()) == MAX_OVERLAP + 1
    assert rig.aborted == [old.exchange]


def test_changes_while_a_stream_is_opened_wait_for_one_more_stream() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    first = rig.got_one()
    for number in (2, 3, 4):
        subscribe(rig, number, f"a://{number}")
    unsubscribe(rig, 5, "a://3")
    assert rig.told() == [result(3, {}), result(5, {})]
    assert rig.got() == []
    acknowledge(rig, first)
    assert rig.told_one() == result(1, {})
    second = rig.got_one()
    assert asked(second) == {"resourceSubscriptions": ["a://1", "a://2", "a://4"]}
    acknowledge(rig, second)
    assert rig.told() == [result(2, {}), result(4, {})]


def test_a_change_back_and_forth_needs_no_further_stream() -> None:
    rig, _ = subscribed("a://1")
    subscribe(rig, 7, "a://2")
    new = rig.got_one()
    unsubscribe(rig, 8, "a://1")
    rig.told()
    subscribe(rig, 9, "a://1")
    acknowledge(rig, new)
    assert rig.told() == [result(7, {}), result(9, {})]
    assert rig.got() == []


def test_those_that_came_too_late_for_a_refused_stream_are_tried_again() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "bad uri")
    first = rig.got_one()
    subscribe(rig, 2, "a://2")
    rig.reply(first, error(first.body["id"], -32602), 400)
    assert rig.told_one()["id"] == 1
    second = rig.got_one()
    assert asked(second) == {"resourceSubscriptions": ["a://2"]}
    acknowledge(rig, second)
    assert rig.told_one() == result(2, {})


def test_a_refused_change_leaves_the_stream_as_it_was() -> None:
    rig, old = subscribed("a://1")
    subscribe(rig, 7, "bad uri")
    refused = rig.got_one()
    rig.reply(refused, error(refused.body["id"], -32602), 400)
    assert rig.told_one()["error"]["code"] == -32602
    assert (rig.got(), rig.aborted) == ([], [])
    tell(rig, old, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")


# -- losses --


@pytest.mark.parametrize("failure", [Failure.CLOSED, Failure.IDLE_TIMEOUT, None])
def test_a_lost_stream_is_opened_again_and_everything_counts_as_changed(
    failure: Failure | None,
) -> None:
    rig = client()
    first = rig.got_one()
    acknowledge(rig, first)
    subscribe(rig, 1, "a://1")
    listen = rig.got_one()
    acknowledge(rig, listen)
    rig.told()
    if failure is None:
        rig.end(listen)
    else:
        rig.fail(listen, failure)
    assert (rig.told(), rig.got()) == ([], [])
    rig.fire("listen-retry")
    again = rig.got_one()
    assert asked(again) == asked(listen)
    assert again.body["id"] != listen.body["id"]
    acknowledge(rig, again)
    assert rig.told() == [
        notification("notifications/resources/list_changed"),
        notification(TOOLS_CHANGED),
        updated("a://1"),
    ]
    assert "tells of changes again" in rig.notices[-1]


def test_the_pause_doubles_up_to_its_limit_and_the_trouble_is_warned_of_once() -> None:
    rig, listen = subscribed("a://1")
    rig.fail(listen, Failure.CLOSED)
    pauses = []
    for _ in range(7):
        (timer,) = [each for each in rig.timers if each.startswith("listen-retry")]
        pauses.append(rig.timers[timer])
        rig.fire("listen-retry")
        rig.reply(rig.got_one(), b"", 503, {})
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert rig.told() == []


def test_a_stream_that_stands_has_the_pause_begin_anew() -> None:
    rig, listen = subscribed("a://1")
    for _ in range(3):
        rig.fail(listen, Failure.CLOSED)
        rig.fire("listen-retry")
        listen = rig.got_one()
        acknowledge(rig, listen)
    (steady,) = [each for each in rig.timers if each.startswith("listen-steady")]
    assert rig.timers[steady] == MAX_RETRY_SECONDS
    rig.fire("listen-steady")
    rig.fail(listen, Failure.CLOSED)
    (timer,) = [each for each in rig.timers if each.startswith("listen-retry")]
    assert rig.timers[timer] == 1


def test_subscribing_during_the_pause_asks_the_server_at_once() -> None:
    rig, listen = subscribed("a://1")
    rig.fail(listen, Failure.CLOSED)
    subscribe(rig, 7, "a://1")
    assert not [each for each in rig.timers if each.startswith("listen-retry")]
    again = rig.got_one()
    assert rig.told() == []
    acknowledge(rig, again)
    assert rig.told() == [updated("a://1"), result(7, {})]


def test_unsubscribing_during_the_pause_from_the_last_ends_it() -> None:
    rig, listen = subscribed("a://1")
    rig.fail(listen, Failure.CLOSED)
    unsubscribe(rig, 7, "a://1")
    assert rig.timers == {}


def test_unsubscribing_during_the_pause_asks_for_less_after_it() -> None:
    rig, listen = subscribed("a://1", "a://2")
    rig.fail(listen, Failure.CLOSED)
    unsubscribe(rig, 7, "a://1")
    assert rig.got() == []
    rig.fire("listen-retry")
    assert asked(rig.got_one()) == {"resourceSubscriptions": ["a://2"]}


def test_a_stream_lost_while_the_next_one_is_opened_needs_no_further_one() -> None:
    rig, old = subscribed("a://1")
    subscribe(rig, 7, "a://2")
    new = rig.got_one()
    rig.fail(old, Failure.CLOSED)
    assert not [each for each in rig.timers if each.startswith("listen-retry")]
    acknowledge(rig, new)
    assert rig.told() == [updated("a://1"), result(7, {})]


def test_both_streams_lost_are_made_up_for_by_one() -> None:
    rig, old = subscribed("a://1")
    subscribe(rig, 7, "a://2")
    new = rig.got_one()
    rig.fail(old, Failure.CLOSED)
    rig.head(new, 200, STREAM)
    rig.end(new)
    assert rig.told_one()["error"]["code"] == -32603
    rig.fire("listen-retry")
    assert asked(rig.got_one()) == {"resourceSubscriptions": ["a://1"]}


def test_what_a_server_tells_no_more_after_a_loss_is_let_go() -> None:
    rig, listen = subscribed("a://1", "a://2")
    rig.fail(listen, Failure.CLOSED)
    rig.fire("listen-retry")
    acknowledge(rig, rig.got_one(), {"resourceSubscriptions": ["a://2"]})
    assert rig.told_one() == updated("a://2")
    assert any("no changes of a://1" in notice for notice in rig.notices)
    assert rig.got() == []


def test_a_server_that_knows_listen_no_more_is_not_asked_again() -> None:
    rig, listen = subscribed("a://1")
    rig.fail(listen, Failure.CLOSED)
    rig.fire("listen-retry")
    again = rig.got_one()
    rig.reply(again, error(again.body["id"], -32601), 404)
    assert not [each for each in rig.timers if each.startswith("listen")]
    assert rig.told() == []


def test_an_error_on_an_acknowledged_stream_is_a_loss() -> None:
    rig, listen = subscribed("a://1")
    rig.body(listen, error(listen.body["id"], -32603))
    rig.fire("listen-retry")
    assert rig.got_one().method == LISTEN


def test_an_authorization_that_is_refused_may_be_granted_later() -> None:
    rig = client()
    rig.reply(rig.got_one(), b"", 401, {})
    rig.fire("listen-retry")
    acknowledge(rig, rig.got_one())
    assert rig.told() == []
