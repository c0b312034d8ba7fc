"""The listens of a 2026-07-28 client on a legacy server."""

from __future__ import annotations

import pytest

from relay.core.events import Failure
from relay.core.legacy.listens import MAX_LISTENS, MAX_URIS
from tests.relay.core.old_server import OFFERED, OldServer, envelope, on_old_server
from tests.relay.core.rig import PREFIX, STREAM, Json, Rig, notification, result

LISTEN = "subscriptions/listen"
UPDATED = "notifications/resources/updated"
TOOLS = "notifications/tools/list_changed"
ALL: Json = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["x:a", "x:b"],
}


def frame(listen: object, method: str, params: Json | None = None) -> Json:
    """A notification of a listen."""
    named = {"_meta": {PREFIX + "subscriptionId": listen}}
    return notification(method, {**(params or {}), **named})


def acknowledged(listen: object, honoured: Json) -> Json:
    method = "notifications/subscriptions/acknowledged"
    return frame(listen, method, {"notifications": honoured})


def listening(
    wanted: Json | None = None, offered: Json | None = None, listen: object = "l"
) -> tuple[Rig, OldServer]:
    """A listen is open and acknowledged."""
    rig, server = on_old_server(offered)
    rig.ask_modern(listen, LISTEN, {"notifications": ALL if wanted is None else wanted})
    assert server.take() == []
    return rig, server


def subscriptions(server: OldServer) -> list[tuple[str, str]]:
    """What was subscribed to and unsubscribed from, in order."""
    server.take()
    return [
        (sent.method.removeprefix("resources/"), sent.body["params"]["uri"])
        for sent in server.log
        if sent.method in ("resources/subscribe", "resources/unsubscribe")
    ]


def push(rig: Rig, server: OldServer, method: str, params: Json | None = None) -> None:
    """The server says something on its standing stream."""
    rig.body(server.standing[-1], notification(method, params))


@pytest.mark.obligation(25)
def test_the_acknowledgement_comes_first_and_names_what_the_server_offers() -> None:
    rig, server = listening()
    assert rig.told_one() == acknowledged(
        "l",
        {
            "toolsListChanged": True,
            "resourcesListChanged": True,
            "resourceSubscriptions": ["x:a", "x:b"],
        },
    )
    assert subscriptions(server) == [("subscribe", "x:a"), ("subscribe", "x:b")]


@pytest.mark.obligation(25)
def test_nothing_is_told_before_the_acknowledgement() -> None:
    rig, server = listening({})
    rig.told()
    rig.ask_modern(5, LISTEN, {"notifications": ALL})
    first, second = rig.got()
    push(rig, server, TOOLS)
    push(rig, server, UPDATED, {"uri": "x:a"})
    rig.succeed(first, {})
    assert rig.told() == []
    rig.succeed(second, {})
    assert rig.told_one()["params"]["_meta"] == {PREFIX + "subscriptionId": 5}


@pytest.mark.obligation(25)
def test_changes_bear_the_id_of_the_listen_and_all_that_the_server_said() -> None:
    rig, server = listening(listen=7)
    rig.told()
    push(rig, server, TOOLS)
    push(rig, server, UPDATED, {"uri": "x:a", "title": "A"})
    assert rig.told() == [frame(7, TOOLS), frame(7, UPDATED, {"uri": "x:a", "title": "A"})]


def test_only_what_was_asked_for_is_told() -> None:
    rig, server = listening({"toolsListChanged": False, "resourceSubscriptions": ["x:a", 5]})
    assert rig.told_one() == acknowledged("l", {"resourceSubscriptions": ["x:a"]})
    push(rig, server, TOOLS)
    push(rig, server, "notifications/resources/list_changed")
    push(rig, server, UPDATED, {"uri": "x:ab"})
    push(rig, server, UPDATED, {"uri": 5})
    assert rig.told() == []


def test_a_part_of_a_subscribed_resource_is_told() -> None:
    rig, server = listening({"resourceSubscriptions": ["x:a"]})
    rig.told()
    push(rig, server, UPDATED, {"uri": "x:a/1"})
    assert rig.told_one() == frame("l", UPDATED, {"uri": "x:a/1"})


def test_an_empty_listen_is_acknowledged() -> None:
    rig, _ = listening({})
    assert rig.told_one() == acknowledged("l", {})


@pytest.mark.parametrize("params", [{}, {"notifications": 5}])
def test_a_listen_that_does_not_say_what_for_is_refused(params: Json) -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, LISTEN, params)
    server.take()
    assert rig.told_one()["error"]["code"] == -32602


def test_a_server_without_subscriptions_is_not_asked_for_any() -> None:
    offered = {**OFFERED, "capabilities": {"resources": {"subscribe": False}}}
    rig, server = listening(offered=offered)
    assert rig.told_one() == acknowledged("l", {})
    assert subscriptions(server) == []


def test_a_refused_subscription_is_left_out_of_the_acknowledgement() -> None:
    rig, server = on_old_server()
    server.refused = {"x:a"}
    rig.ask_modern("l", LISTEN, {"notifications": ALL})
    server.take()
    assert rig.told_one()["params"]["notifications"]["resourceSubscriptions"] == ["x:b"]
    rig.cancel("l")
    assert subscriptions(server)[2:] == [("unsubscribe", "x:b")]


def test_a_listen_without_any_subscription_left_honours_none() -> None:
    rig, server = on_old_server()
    server.refused = {"x:a"}
    rig.ask_modern("l", LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    server.take()
    assert rig.told_one() == acknowledged("l", {})


def test_subscriptions_that_find_no_room_are_left_out_of_the_acknowledgement() -> None:
    rig, server = on_old_server(max_line=1500)
    uris = [f"x:{number:0200}" for number in range(20)]
    rig.ask_modern("l", LISTEN, {"notifications": {"resourceSubscriptions": uris}})
    rig.succeed(rig.got_one(), OFFERED)
    assert rig.told() == []
    rig.reply(rig.got_one(), status=202, headers={})  # for which the subscriptions have waited
    server.take()
    honoured = rig.told_one()["params"]["notifications"]["resourceSubscriptions"]
    assert 0 < len(honoured) < len(uris)
    assert honoured == uris[: len(honoured)]


# -- several listens --


def test_each_change_goes_to_all_listens_that_want_it() -> None:
    rig, server = listening()
    rig.ask_modern(2, LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    rig.told()
    push(rig, server, UPDATED, {"uri": "x:a"})
    assert rig.told() == [frame("l", UPDATED, {"uri": "x:a"}), frame(2, UPDATED, {"uri": "x:a"})]


def test_a_change_without_params_is_told_too() -> None:
    rig, server = listening({"toolsListChanged": True})
    rig.told()
    rig.body(server.standing[-1], {"jsonrpc": "2.0", "method": TOOLS})
    assert rig.told_one() == frame("l", TOOLS)


def test_a_resource_is_subscribed_to_once_and_until_the_last_listen_ends() -> None:
    rig, server = listening({"resourceSubscriptions": ["x:a"]})
    rig.ask_modern(2, LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    server.take()
    assert len(rig.told()) == 2
    rig.cancel("l")
    assert subscriptions(server) == [("subscribe", "x:a")]
    push(rig, server, UPDATED, {"uri": "x:a"})
    assert rig.told_one() == frame(2, UPDATED, {"uri": "x:a"})
    rig.cancel(2)
    assert subscriptions(server) == [("subscribe", "x:a"), ("unsubscribe", "x:a")]
    push(rig, server, UPDATED, {"uri": "x:a"})
    assert rig.told() == []


def test_a_second_listen_waits_for_the_subscription_of_the_first() -> None:
    rig, server = listening({})
    rig.told()
    for number in (1, 2):
        rig.ask_modern(number, LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    sent = rig.got_one()
    assert rig.told() == []
    rig.succeed(sent, {})
    assert [each["params"]["_meta"][PREFIX + "subscriptionId"] for each in rig.told()] == [1, 2]
    assert server.take() == []


def test_a_listen_cancelled_before_its_subscription_leaves_none_behind() -> None:
    rig, server = listening({})
    rig.told()
    rig.ask_modern(1, LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    subscribe = rig.got_one()
    rig.cancel(1)
    assert rig.got() == []
    rig.succeed(subscribe, {})
    assert rig.got_one().method == "resources/unsubscribe"
    assert rig.told() == []
    assert server.take() == []


def test_a_resource_wanted_again_before_it_is_let_go_is_subscribed_to_after_that() -> None:
    rig, server = listening({"resourceSubscriptions": ["x:a"]})
    rig.told()
    rig.cancel("l")
    unsubscribe = rig.got_one()
    rig.ask_modern(2, LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    assert rig.got() == []
    rig.succeed(unsubscribe, {})
    assert rig.told() == []
    server.take()
    assert rig.told_one() == acknowledged(2, {"resourceSubscriptions": ["x:a"]})


def test_there_are_only_so_many_listens() -> None:
    rig, server = on_old_server()
    for number in range(MAX_LISTENS + 1):
        rig.ask_modern(number, LISTEN, {"notifications": {}})
        server.take()
    refused = rig.told()[-1]
    assert (refused["id"], refused["error"]["code"]) == (MAX_LISTENS, -32603)


def test_there_are_only_so_many_resources() -> None:
    rig, server = on_old_server()
    uris = [f"x:{number}" for number in range(MAX_URIS + 1)]
    rig.ask_modern(1, LISTEN, {"notifications": {"resourceSubscriptions": uris}})
    server.take()
    assert rig.told_one()["error"]["code"] == -32603
    rig.ask_modern(2, LISTEN, {"notifications": {"resourceSubscriptions": uris[1:]}})
    server.take()
    honoured = rig.told_one()["params"]["notifications"]["resourceSubscriptions"]
    assert len(honoured) == MAX_URIS


def test_resources_that_are_no_longer_wanted_make_room_for_others() -> None:
    rig, server = listening({})
    rig.told()
    for part in range(2):
        uris = [f"x:{part}/{number}" for number in range(MAX_URIS)]
        rig.ask_modern(part, LISTEN, {"notifications": {"resourceSubscriptions": uris}})
        server.take()
        assert rig.told_one() == acknowledged(part, {"resourceSubscriptions": uris})
        rig.cancel(part)
        server.take()


def test_changes_of_one_session_are_not_told_to_another() -> None:
    rig, server = listening({"toolsListChanged": True})
    meta = envelope({"sampling": {}})
    rig.ask(2, LISTEN, {"notifications": {"toolsListChanged": True}, "_meta": meta})
    server.take()
    rig.told()
    push(rig, server, TOOLS)
    assert rig.told_one() == frame(2, TOOLS)


# -- the session under them --


@pytest.mark.obligation(26, 31)
def test_a_listen_survives_the_loss_of_the_session() -> None:
    rig, server = listening({"resourceSubscriptions": ["x:a"]})
    rig.told()
    rig.ask_modern(2, "tools/list")
    rig.reply(server.take_one(), status=404)
    again = server.take_one()
    assert (again.method, again.headers["Mcp-Session-Id"]) == ("tools/list", "s2")
    server.answer(again, {"tools": []})
    told = rig.told()
    assert frame("l", UPDATED, {"uri": "x:a"}) in told  # which may have changed meanwhile
    push(rig, server, UPDATED, {"uri": "x:a"})
    assert rig.told_one() == frame("l", UPDATED, {"uri": "x:a"})


def test_the_session_is_kept_alive_as_long_as_something_listens() -> None:
    rig, server = listening({})
    for _ in range(2):
        rig.fire("listens:")
        sent = server.take_one()
        assert sent.method == "ping"
        server.answer(sent, {})
    rig.cancel("l")
    rig.fire("listens:")
    assert server.take() == []
    assert not [timer for timer in rig.timers if timer.startswith("listens:")]


def test_more_listens_do_not_put_off_the_look_at_the_session() -> None:
    rig, server = listening({})
    (timer,) = [timer for timer in rig.timers if timer.startswith("listens:")]
    rig.timers[timer] = 0.001  # what is left of it
    rig.ask_modern(2, LISTEN, {"notifications": {}})
    assert server.take() == []
    assert rig.timers[timer] == 0.001


def test_a_server_that_refuses_a_ping_is_alive() -> None:
    rig, server = listening({})
    rig.told()
    rig.fire("listens:")
    sent = server.take_one()
    refusal = {"code": -32601, "message": "no such method"}
    rig.reply(sent, {"jsonrpc": "2.0", "id": sent.body["id"], "error": refusal})
    assert rig.told() == []
    assert [timer for timer in rig.timers if timer.startswith("listens:")]


@pytest.mark.obligation(26)
def test_a_session_that_cannot_be_restored_ends_its_listens_as_lost() -> None:
    rig, server = listening({"resourceSubscriptions": ["x:a"]})
    rig.told()
    rig.fire("listens:")
    rig.fail(server.take_one(), Failure.IDLE_TIMEOUT, may_have_executed=True)
    assert rig.told_one() == notification("notifications/cancelled", {"requestId": "l"})
    push(rig, server, UPDATED, {"uri": "x:a"})
    assert rig.told() == []
    rig.ask_modern("l", LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    server.take()
    assert rig.told_one() == acknowledged("l", {"resourceSubscriptions": ["x:a"]})


def test_a_subscription_that_is_settled_after_the_loss_matters_no_more() -> None:
    rig, server = listening({})
    rig.told()
    rig.ask_modern(2, LISTEN, {"notifications": {"resourceSubscriptions": ["x:a"]}})
    subscribe = rig.got_one()
    rig.fire("listens:")
    rig.fail(server.take_one(), Failure.IDLE_TIMEOUT, may_have_executed=True)
    assert len(rig.told()) == 2
    rig.succeed(subscribe, {})
    assert rig.told() == []
    assert server.take() == []


def test_open_listens_do_not_hold_up_the_end() -> None:
    rig, server = listening()
    rig.told()
    rig.close()
    server.take()
    assert rig.exit_code == 0
    assert "error" in rig.told_one()


def test_a_signal_ends_a_listen_with_an_error() -> None:
    rig, server = listening({})
    rig.told()
    rig.terminate()
    assert rig.told_one()["error"]["code"] == -32603
    server.take()
    assert rig.exit_code == 0


def test_a_change_on_the_stream_of_a_call_is_told_too() -> None:
    rig, server = listening()
    rig.told()
    rig.ask_modern(2, "tools/call", {"name": "t"})
    sent = server.take_one()
    rig.head(sent, 200, STREAM)
    rig.body(sent, notification(TOOLS))
    rig.body(sent, result(sent.body["id"], {}))
    assert rig.told()[0] == frame("l", TOOLS)
