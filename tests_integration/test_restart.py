"""Servers that crash and come back: what becomes of calls, questions and subscriptions."""

from __future__ import annotations

from itertools import count

from tests_integration.harness.asked import ABLE, ANN, assert_greeted, greeting
from tests_integration.harness.changes import (
    CHANGING,
    Watcher,
    assert_told,
    assert_told_all_over,
    on_changing_servers,
    on_legacy_changing_servers,
)
from tests_integration.harness.pairings import (
    QUIET_SECONDS,
    assert_quiet,
    client_of,
    let_relay_notice,
    on_legacy_sdk_servers,
    on_modern_releases,
    on_sdk_servers,
    on_servers,
    text_of,
    with_both_clients,
)
from tests_integration.harness.peers import on
from tests_integration.harness.servers import Peer
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import Json, StdioClient
from tests_integration.manifest import requirement

_keys = (f"restart-{number}" for number in count())


# -- in flight --


@requirement("restart.in-flight")
@with_both_clients
@on_sdk_servers
def test_calls_whose_server_crashes_are_said_to_be_in_doubt_and_are_not_made_again(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server, silent, answering = stage.server(peer, kind), next(_keys), next(_keys)
    client = client_of(stage, client_era, server)
    calls = [
        client.start_call("hold", key=silent, loud=False),
        client.start_call("hold", {"progressToken": answering}, key=answering, loud=True),
    ]
    for key in (silent, answering):
        server.says(f"started {key}$", stage.deadline)
    client.told("notifications/progress")
    peer.restart(server, kind)
    for call in calls:
        assert_in_doubt(client.error(call))
    let_relay_notice(client)
    assert_add_works(client)
    assert not [line for line in server.process.lines.left() if b"started" in line]


def assert_in_doubt(error: Json) -> None:
    """The call may have been executed, and the text says so, too."""
    assert error["code"] == -32603
    assert error["data"]["mayHaveExecuted"] is True
    assert error["message"].endswith("the call may have executed")
    assert error["data"]["hint"]


def assert_add_works(client: StdioClient) -> None:
    """The next call is answered, and nothing else comes."""
    assert text_of(client.call("add", a=2, b=3)) == "5"
    assert_quiet(client)


@requirement("restart.in-flight")
@with_both_clients
@on("service")
def test_a_capture_whose_service_crashes_is_said_to_be_in_doubt(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    server = stage.server(peer)
    client = client_of(stage, client_era, server)
    capture = client.start_call("capture", interface="powertrain", seconds=20)
    assert client.call("bus_status")["structuredContent"]["ok"]
    peer.restart(server)
    assert_in_doubt(client.error(capture))
    let_relay_notice(client)
    assert client.call("bus_status")["structuredContent"]["ok"]
    assert_quiet(client)


# -- idle, and down for a while --


@requirement("restart.idle")
@on_servers("kind", ("mcp-2.3", "dual"), ("mcp-2.0", "dual"), ("mcp-1", "legacy"))
def test_calls_are_refused_in_words_while_a_server_is_down_and_work_once_it_is_back(
    stage: Stage, peer: Peer, kind: str
) -> None:
    assert_survives_a_while_without_server(stage, peer, kind, "add", {"a": 2, "b": 3})


@requirement("restart.idle")
@on_servers("tool", ("everything", "get-tiny-image"), ("service", "config_show"))
def test_a_server_of_another_make_may_be_down_for_a_while_as_well(
    stage: Stage, peer: Peer, tool: str
) -> None:
    assert_survives_a_while_without_server(stage, peer, "dual", tool, {})


def assert_survives_a_while_without_server(
    stage: Stage, peer: Peer, kind: str, tool: str, arguments: Json
) -> None:
    """Each relay tries for about four seconds, so both clients do it at a time."""
    server = stage.server(peer, kind)
    clients = [client_of(stage, era, server) for era in ("legacy", "modern")]
    for client in clients:
        assert not client.call(tool, **arguments).get("isError")
    peer.kill(server)
    for client in clients:
        let_relay_notice(client)
    calls = [(client, client.start_call(tool, **arguments)) for client in clients for _ in range(3)]
    for client, call in calls:
        error = client.error(call)
        assert error["code"] == -32603
        assert error["message"].startswith("cannot reach the server: ")
        assert "the server runs" in error["data"]["hint"]
        assert "mayHaveExecuted" not in error["data"]
    peer.restart(server, kind)
    for client in clients:
        assert not client.call(tool, **arguments).get("isError")
        # A server that tells of changes may have changed meanwhile, which is said.
        assert not [message for message in client.drain(QUIET_SECONDS) if "id" in message]


# -- while a stream for changes is open --


@requirement("restart.subscriptions")
@on_changing_servers
def test_a_legacy_client_is_told_of_changes_by_the_server_that_came_after_the_crash(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    assert_is_told_by_the_next_server(stage, peer, "legacy", server_era)


@requirement("restart.subscriptions")
@on_legacy_changing_servers
def test_the_listen_of_a_modern_client_outlives_a_legacy_server(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    assert_is_told_by_the_next_server(stage, peer, "modern", server_era)


def assert_is_told_by_the_next_server(
    stage: Stage, peer: Peer, client_era: str, server_era: str
) -> None:
    server = stage.server(peer, "changing")
    watcher = Watcher(stage, server, client_era, server_era)
    watcher.watch(CHANGING)
    peer.restart(server, "changing")
    # By itself: the client has no reason to do anything.
    assert_told_all_over(watcher.client, CHANGING)
    watcher.stands(CHANGING)
    watcher.client.call("touch")
    assert_told(watcher.client, CHANGING)


@requirement("restart.subscriptions")
@on_modern_releases
def test_a_modern_client_is_told_that_its_listen_is_lost_and_can_listen_again(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "changing")
    watcher = Watcher(stage, server, "modern", "modern")
    listen = watcher.watch(CHANGING)
    peer.restart(server, "changing")
    assert watcher.client.told("notifications/cancelled")["params"]["requestId"] == listen
    watcher.watch(CHANGING)
    watcher.client.call("touch")
    assert_told(watcher.client, CHANGING)


# -- while the user thinks --


def assert_state_is_refused(answer: Json) -> None:
    """The words are the server's own; what failed is known not to have been executed."""
    error = answer["error"]
    assert (error["code"], error["data"]) == (-32602, {"reason": "invalid_request_state"})
    assert error["message"] == "Invalid or expired requestState"


@requirement("restart.while-thinking")
@with_both_clients
@on_modern_releases
def test_a_state_of_before_a_restart_is_refused_by_the_server_and_the_next_call_works(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    server = stage.server(peer)
    client = client_of(stage, client_era, server, capabilities=ABLE)
    thinking = greeting(client)
    peer.restart(server)
    let_relay_notice(client)
    assert_state_is_refused(thinking.answer(ANN))
    assert_greeted(greeting(client).answer(ANN))
    assert_quiet(client)


@requirement("mrtr.kept-state")
@with_both_clients
@on_modern_releases
def test_a_state_of_a_server_that_keeps_its_key_is_good_after_a_restart(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    server = stage.server(peer, "kept-key")
    client = client_of(stage, client_era, server, capabilities=ABLE)
    thinking = greeting(client)
    peer.restart(server, "kept-key")
    let_relay_notice(client)
    assert_greeted(thinking.answer(ANN))


@requirement("mrtr.short-state")
@with_both_clients
@on_modern_releases
def test_a_state_that_expires_while_the_user_thinks_is_refused_and_the_next_call_works(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    server = stage.server(peer, "short-state")
    client = client_of(stage, client_era, server, capabilities=ABLE)
    thinking = greeting(client)
    server.says("expired$", stage.deadline)
    assert_state_is_refused(thinking.answer(ANN))
    assert_add_works(client)


@requirement("restart.while-thinking")
@with_both_clients
@on_legacy_sdk_servers
def test_a_question_of_a_legacy_server_that_crashed_is_withdrawn_and_its_call_in_doubt(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server = stage.server(peer, kind)
    client = client_of(stage, client_era, server, capabilities=ABLE)
    thinking = greeting(client)
    peer.restart(server, kind)
    if client_era == "legacy":
        withdrawn = client.told("notifications/cancelled")["params"]
        assert withdrawn["requestId"] == thinking.question["id"]
    assert_in_doubt(thinking.answer(ANN)["error"])
    assert_greeted(greeting(client).answer(ANN))
    assert_quiet(client)
