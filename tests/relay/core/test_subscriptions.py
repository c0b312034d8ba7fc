"""A legacy client's subscriptions on a modern server: what it asks for and what it hears."""

from __future__ import annotations

from itertools import count
from typing import cast

import msgspec
import pytest

from relay.core.commands import Command
from relay.core.era import Context
from relay.core.events import Event, Failure, Started
from relay.core.inflight import Inflight
from relay.core.modern.listening import ACKNOWLEDGE_SECONDS
from relay.core.modern.subscriptions import MAX_URIS, Subscriptions
from relay.core.session import Options, Session
from tests.relay.core.listens import (
    ACKNOWLEDGED,
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
    INTRODUCTION,
    MODERN,
    PREFIX,
    STREAM,
    Json,
    Rig,
    error,
    expire,
    notification,
    result,
)

# -- lists --


@pytest.mark.obligation(6, 7, 11)
def test_one_stream_listens_for_the_list_changes_that_the_server_offers() -> None:
    rig = client()
    listen = rig.got_one()
    assert asked(listen) == {"toolsListChanged": True, "resourcesListChanged": True}
    assert listen.headers["MCP-Protocol-Version"] == MODERN
    assert listen.headers["Mcp-Method"] == LISTEN
    meta = listen.body["params"]["_meta"]
    assert meta[PREFIX + "protocolVersion"] == MODERN
    assert meta[PREFIX + "clientInfo"] == INTRODUCTION["clientInfo"]


@pytest.mark.parametrize(
    "capabilities",
    [{}, {"tools": {}}, {"tools": {"listChanged": False}}, {"prompts": 7, "tools": None}],
)
def test_nothing_is_listened_to_where_nothing_is_offered(capabilities: Json) -> None:
    assert client(capabilities).got() == []


def test_a_list_change_is_passed_on_without_the_subscription_id() -> None:
    rig = client()
    listen = rig.got_one()
    acknowledge(rig, listen)
    assert rig.told() == []
    tell(rig, listen, TOOLS_CHANGED)
    told = rig.told_one()
    assert told["method"] == TOOLS_CHANGED
    assert "_meta" not in told.get("params", {})


@pytest.mark.obligation(25)
def test_nothing_is_passed_on_before_the_acknowledgement() -> None:
    rig = client()
    listen = rig.got_one()
    rig.head(listen, 200, STREAM)
    tell(rig, listen, TOOLS_CHANGED)
    assert rig.told() == []


@pytest.mark.parametrize(
    "said",
    [
        notification("notifications/prompts/list_changed"),
        notification("notifications/message", {"level": "info", "data": "x"}),
        notification(UPDATED, {"uri": "a://1"}),
        notification(UPDATED, {"uri": 7}),
        notification(ACKNOWLEDGED),
        {"jsonrpc": "2.0", "id": 1, "method": TOOLS_CHANGED},
    ],
)
def test_what_was_not_asked_for_is_dropped(said: Json) -> None:
    rig = client()
    listen = rig.got_one()
    acknowledge(rig, listen)
    rig.body(listen, said)
    assert rig.told() == []


@pytest.mark.obligation(45)
def test_what_a_vendor_says_on_the_stream_is_passed_on() -> None:
    rig = client()
    listen = rig.got_one()
    acknowledge(rig, listen)
    tell(rig, listen, "vendor/hint", n=1)
    assert rig.told_one() == notification("vendor/hint", {"n": 1})


def test_a_list_that_is_not_acknowledged_is_not_asked_for_again() -> None:
    rig = client()
    listen = rig.got_one()
    acknowledge(rig, listen, {"toolsListChanged": True, "resourcesListChanged": "yes"})
    assert rig.got() == []
    assert "no changes of resources" in rig.notices[-1]
    subscribe(rig, 1, "a://1")
    assert asked(rig.got_one()) == {"toolsListChanged": True, "resourceSubscriptions": ["a://1"]}


@pytest.mark.parametrize("status", [404, 405])
def test_a_server_without_listen_is_not_asked_again(status: int) -> None:
    rig = client()
    rig.reply(rig.got_one(), b"Not Found", status, {"content-type": "text/plain"})
    assert (rig.told(), rig.got()) == ([], [])
    assert not [timer for timer in rig.timers if timer.startswith("listen")]


# -- subscribing --


@pytest.mark.obligation(24)
def test_a_subscription_is_confirmed_by_its_acknowledgement_and_by_nothing_before() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    listen = rig.got_one()
    assert asked(listen) == {"resourceSubscriptions": ["a://1"]}
    rig.head(listen, 200, STREAM)
    assert rig.told() == []
    acknowledge(rig, listen)
    assert rig.told_one() == result(1, {})
    tell(rig, listen, UPDATED, uri="a://1")
    assert rig.told_one() == updated("a://1")


def test_a_resource_that_is_not_acknowledged_is_refused() -> None:
    rig, _ = subscribed("a://1")
    subscribe(rig, 7, "a://2")
    acknowledge(rig, rig.got_one(), {"resourceSubscriptions": ["a://1", 7]})
    told = rig.told_one()
    assert (told["id"], told["error"]["code"]) == (7, -32602)
    assert "read the resource" in told["error"]["data"]["hint"]
    assert rig.got() == []


@pytest.mark.parametrize("params", [None, {}, {"uri": 7}, {"uri": ""}, {"uri": None}])
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_without_a_uri_there_is_nothing_to_subscribe_to(method: str, params: Json | None) -> None:
    rig = client(NO_LISTS)
    rig.ask(1, method, params)
    assert rig.told_one()["error"]["code"] == -32602
    assert rig.got() == []


def test_subscribing_again_is_confirmed_at_once() -> None:
    rig, _ = subscribed("a://1")
    subscribe(rig, 7, "a://1")
    assert rig.told_one() == result(7, {})
    assert rig.got() == []


def test_a_server_that_does_not_know_listen_refuses_with_a_hint() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    listen = rig.got_one()
    rig.reply(listen, error(listen.body["id"], -32601), 404)
    told = rig.told_one()["error"]
    assert (told["code"], "hint" in told["data"]) == (-32601, True)
    subscribe(rig, 2, "a://1")
    rig.reply(rig.got_one(), b"", 404, {})
    assert rig.told_one()["error"]["code"] == -32601
    assert rig.got() == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (error(1, -32602, "bad uri"), -32602),
        (error(1, -32603, "Subscription limit reached"), -32603),
        ({**error(1, 0), "error": {"code": -32603, "message": 7}}, -32603),
        (result(1, {"resultType": "complete"}), -32603),
    ],
)
def test_why_a_subscription_failed_is_told(body: Json, code: int) -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    listen = rig.got_one()
    rig.reply(listen, {**body, "id": listen.body["id"]})
    told = rig.told_one()
    assert (told["id"], told["error"]["code"]) == (1, code)
    assert rig.got() == []
    assert not [timer for timer in rig.timers if timer.startswith("listen")]


def test_a_server_that_never_acknowledges_is_given_up() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    listen = rig.got_one()
    rig.head(listen, 200, STREAM)
    assert time_of(rig, listen) == ACKNOWLEDGE_SECONDS
    expire(rig, timer_of(listen))
    assert "within 20 s" in rig.told_one()["error"]["message"]
    assert rig.aborted == [listen.exchange]


def test_no_more_than_so_many_resources_can_be_subscribed_to() -> None:
    rig = client(NO_LISTS)
    for number in range(MAX_URIS + 1):
        subscribe(rig, number, f"a://{number}")
    assert rig.told_one()["error"]["data"]["hint"].startswith("unsubscribe")
    acknowledge(rig, rig.got_one())
    acknowledge(rig, rig.got_one())
    assert len(rig.told()) == MAX_URIS
    subscribe(rig, "more", "b://0")
    assert rig.told_one()["error"]["data"]["hint"].startswith("unsubscribe")
    subscribe(rig, "again", "a://0")
    assert rig.told_one() == result("again", {})
    unsubscribe(rig, "less", "a://0")
    rig.told()
    subscribe(rig, "other", "b://0")
    assert rig.told() == []


def test_a_cancelled_subscription_is_not_answered_and_its_stream_is_closed() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    listen = rig.got_one()
    rig.cancel(1)
    assert rig.aborted == [listen.exchange]
    acknowledge(rig, listen)
    assert (rig.told(), rig.got()) == ([], [])


def test_cancelling_one_of_two_leaves_the_other_waiting() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    subscribe(rig, 2, "a://1")
    rig.cancel(1)
    acknowledge(rig, rig.got_one())
    assert rig.told_one() == result(2, {})


# -- unsubscribing --


def test_unsubscribing_from_what_is_not_subscribed_to_is_fine() -> None:
    rig = client(NO_LISTS)
    unsubscribe(rig, 1, "a://1")
    assert rig.told_one() == result(1, {})
    assert rig.got() == []


def test_the_last_resource_takes_the_stream_with_it() -> None:
    rig, listen = subscribed("a://1")
    unsubscribe(rig, 7, "a://1")
    assert rig.told_one() == result(7, {})
    assert (rig.aborted, rig.got()) == ([listen.exchange], [])


def test_what_was_unsubscribed_from_is_silent_at_once() -> None:
    rig, listen = subscribed("a://1", "a://2")
    unsubscribe(rig, 7, "a://1")
    rig.told()
    tell(rig, listen, UPDATED, uri="a://1")
    tell(rig, listen, UPDATED, uri="a://2")
    assert rig.told_one() == updated("a://2")
    assert asked(rig.got_one()) == {"resourceSubscriptions": ["a://2"]}


def test_unsubscribing_before_the_acknowledgement_answers_both() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    unsubscribe(rig, 2, "a://1")
    assert rig.told() == [result(1, {}), result(2, {})]
    assert rig.aborted == [rig.got_one().exchange]


# -- which resources --


@pytest.mark.parametrize(
    ("named", "passes"),
    [
        ("a://dir", True),
        ("a://dir/file", True),
        ("a://dir?page=2", True),
        ("a://dir#top", True),
        ("a://directory", False),
        ("a://di", False),
        ("a://other", False),
        ("b://tree/leaf", True),
        ("b://tree", False),
    ],
)
def test_a_part_of_a_resource_is_passed_on_and_no_other_one(named: str, passes: bool) -> None:
    rig, listen = subscribed("a://dir", "b://tree/")
    tell(rig, listen, UPDATED, uri=named)
    assert rig.told() == ([updated(named)] if passes else [])


# -- the end --


def test_a_standing_stream_does_not_hold_up_the_end() -> None:
    rig, listen = subscribed("a://1")
    rig.close()
    assert rig.aborted == [listen.exchange]
    assert rig.exit_code == 0


def test_a_subscription_that_waits_holds_up_the_end_until_it_is_answered() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    rig.close()
    assert rig.exit_code is None
    acknowledge(rig, rig.got_one())
    assert rig.told_one() == result(1, {})
    assert rig.exit_code == 0


def test_a_signal_does_not_wait_for_a_subscription() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    rig.terminate()
    assert rig.told_one()["id"] == 1
    assert rig.exit_code == 0


# -- the tools --


class Alone:
    """Subscriptions in the place of a session: their client is introduced as they start."""

    def __init__(self) -> None:
        self.changes = 0
        context = Context(Options(), Inflight(), count(1))
        self._subscriptions = Subscriptions(context, MODERN, dict, self._count)

    def _count(self) -> None:
        self.changes += 1

    def receive(self, event: Event) -> list[Command]:
        if isinstance(event, Started):
            return self._subscriptions.begin({"tools": msgspec.Raw(b'{"listChanged":true}')})
        return self._subscriptions.receive(event)


def test_whoever_knows_the_tools_is_told_when_they_may_have_changed() -> None:
    alone = Alone()
    rig = Rig(cast(Session, alone))
    rig.feed(Started())
    listen = rig.got_one()
    acknowledge(rig, listen)
    assert alone.changes == 0
    tell(rig, listen, "vendor/hint")
    assert alone.changes == 0
    tell(rig, listen, TOOLS_CHANGED)
    assert alone.changes == 1
    rig.fail(listen, Failure.CLOSED)
    rig.fire("listen-retry")
    acknowledge(rig, rig.got_one())
    assert alone.changes == 2
