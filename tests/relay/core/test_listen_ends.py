"""A stream that the server ends in good order: it may have lost what it had still to tell."""

from __future__ import annotations

import pytest

from relay.core.modern.listening import RETRY_SECONDS
from tests.relay.core.listens import (
    LISTEN,
    NO_LISTS,
    UPDATED,
    acknowledge,
    asked,
    client,
    subscribe,
    subscribed,
    tell,
    unsubscribe,
    updated,
)
from tests.relay.core.rig import Rig, Sent, notification, result


def end_in_order(rig: Rig, listen: Sent) -> None:
    rig.body(listen, result(listen.body["id"], {"resultType": "complete"}))
    rig.end(listen)


def ended(*uris: str) -> Rig:
    """A subscribed client whose stream the server has just ended, and which has been told."""
    rig, listen = subscribed(*uris)
    end_in_order(rig, listen)
    rig.told()
    return rig


def pauses(rig: Rig) -> list[float]:
    return [seconds for name, seconds in rig.timers.items() if name.startswith("listen")]


@pytest.mark.obligation(26)
def test_it_is_not_opened_again_until_something_else_is_wanted() -> None:
    rig = ended("a://1")
    assert (rig.got(), pauses(rig)) == ([], [])
    assert "the server ended it" in rig.notices[0]
    unsubscribe(rig, 6, "a://0")
    assert (rig.told_one(), rig.got()) == (result(6, {}), [])
    subscribe(rig, 7, "a://2")
    again = rig.got_one()
    assert asked(again) == {"resourceSubscriptions": ["a://1", "a://2"]}
    acknowledge(rig, again)
    assert rig.told() == [updated("a://1"), result(7, {})]


def test_all_that_it_told_of_is_said_to_have_changed() -> None:
    rig, listen = subscribed("a://1", "a://2")
    end_in_order(rig, listen)
    assert rig.told() == [updated("a://1"), updated("a://2")]
    assert "once the client fetches again" in rig.notices[-1]


def test_lists_that_it_told_of_are_said_to_have_changed_and_the_tools_are_looked_at_anew() -> None:
    rig = client({"tools": {"listChanged": True}})
    listen = rig.got_one()
    acknowledge(rig, listen)
    end_in_order(rig, listen)
    assert rig.told() == [notification("notifications/tools/list_changed", {})]


def test_a_server_that_honoured_nothing_has_nothing_to_make_up_for() -> None:
    rig = client({"tools": {"listChanged": True}})
    listen = rig.got_one()
    acknowledge(rig, listen, {})
    end_in_order(rig, listen)
    assert rig.told() == []


@pytest.mark.parametrize("uri", ["a://1", "a://1/part"])
def test_a_client_that_reads_what_it_subscribed_to_is_listened_for_again(uri: str) -> None:
    rig = ended("a://1")
    rig.ask(6, "resources/read", {"uri": uri})
    assert rig.got_one().method == "resources/read"
    assert pauses(rig) == [RETRY_SECONDS]
    rig.fire("listen-retry")
    again = rig.got_one()
    assert asked(again) == {"resourceSubscriptions": ["a://1"]}
    acknowledge(rig, again)
    assert rig.told() == [updated("a://1")]
    tell(rig, again, UPDATED, uri="a://1")
    assert rig.told() == [updated("a://1")]


@pytest.mark.parametrize(
    ("capability", "method"),
    [
        ("tools", "tools/list"),
        ("prompts", "prompts/list"),
        ("resources", "resources/list"),
        ("resources", "resources/templates/list"),
    ],
)
def test_a_client_that_lists_again_is_listened_for_again(capability: str, method: str) -> None:
    rig = client({capability: {"listChanged": True}})
    listen = rig.got_one()
    acknowledge(rig, listen)
    end_in_order(rig, listen)
    rig.ask(6, method)
    rig.fire("listen-retry")
    assert [sent.method for sent in rig.got()] == [method, LISTEN]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "a://2"}),
        ("resources/read", {"uri": 1}),
        ("resources/read", None),
        ("tools/list", None),
        ("prompts/get", {"name": "a", "uri": "a://1"}),
    ],
)
def test_other_requests_do_not_make_the_relay_listen_again(
    method: str, params: dict[str, object] | None
) -> None:
    rig = ended("a://1")
    rig.ask(6, method, params)
    assert [sent.method for sent in rig.got()] == [method]
    assert pauses(rig) == []


def test_a_server_that_ends_each_stream_at_once_is_asked_less_and_less_often() -> None:
    rig, listen = subscribed("a://1")
    seen = []
    for number in range(10, 14):
        end_in_order(rig, listen)
        rig.ask(number, "resources/read", {"uri": "a://1"})
        rig.got()
        seen += pauses(rig)
        rig.fire("listen-retry")
        listen = rig.got_one()
        acknowledge(rig, listen)
    assert seen == [1, 2, 4, 8]


def test_a_stream_that_stands_is_not_touched_by_what_the_client_fetches() -> None:
    rig, _ = subscribed("a://1")
    rig.ask(6, "resources/read", {"uri": "a://1"})
    assert [sent.method for sent in rig.got()] == ["resources/read"]


def test_a_stream_that_was_refused_is_not_asked_for_again_by_fetching() -> None:
    rig = client(NO_LISTS)
    subscribe(rig, 1, "a://1")
    rig.reply(rig.got_one(), {"jsonrpc": "2.0", "id": None, "error": {"code": -32601}}, 404)
    rig.told()
    rig.ask(6, "resources/read", {"uri": "a://1"})
    assert [sent.method for sent in rig.got()] == ["resources/read"]
