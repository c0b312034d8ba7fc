"""Sessions that a server of an older revision ends or forgets: made anew, unseen by the client."""

from __future__ import annotations

import http.client
import json
import re
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from tests_integration.harness.asked import ABLE, ANN, DECLINED, Asked, assert_greeted, greeting
from tests_integration.harness.changes import (
    CHANGING,
    Watcher,
    assert_told,
    assert_told_all_over,
    on_legacy_changing_servers,
)
from tests_integration.harness.pairings import (
    QUIET_SECONDS,
    assert_quiet,
    client_of,
    let_relay_notice,
    on_legacy_sdk_servers,
    text_of,
    with_both_clients,
)
from tests_integration.harness.peers import on
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import StdioClient
from tests_integration.manifest import requirement

CALLS = 8

_keys = (f"session-{number}" for number in count())


def delete_session(stage: Stage, server: Server, session: str) -> None:
    """End a session behind the relay's back."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.netloc, timeout=stage.deadline.left())
    headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    connection.request("DELETE", address.path, headers=headers)
    assert connection.getresponse().status in (200, 204)
    connection.close()


def session_of(client: StdioClient) -> str:
    """The session in which the server gets what this client says."""
    session: str = json.loads(text_of(client.call("reveal")))["headers"]["mcp-session-id"]
    return session


# -- the next call --


@requirement("session.expired", "session.capabilities")
@with_both_clients
@on_legacy_sdk_servers
def test_a_session_that_was_deleted_is_made_anew_and_the_client_can_still_be_asked(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server = stage.server(peer, kind)
    client = client_of(stage, client_era, server, capabilities=ABLE)
    assert_greeted(greeting(client).answer(ANN))
    session = session_of(client)
    delete_session(stage, server, session)
    assert_greeted(greeting(client).answer(ANN))
    assert session_of(client) != session
    assert_quiet(client)


@requirement("session.expired", "session.capabilities", "restart.idle")
@with_both_clients
@on_legacy_sdk_servers
def test_a_session_that_a_restarted_server_does_not_know_is_made_anew_with_the_same_capabilities(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server = stage.server(peer, kind)
    client = client_of(stage, client_era, server, capabilities=ABLE)
    session = session_of(client)
    peer.restart(server, kind)
    let_relay_notice(client)
    assert_greeted(greeting(client).answer(ANN))
    assert session_of(client) != session
    assert_quiet(client)


@requirement("session.expired", "session.capabilities")
@with_both_clients
@on("everything")
def test_a_deleted_session_that_is_refused_with_400_is_made_anew_as_well(
    stage: Stage, peer: Peer, client_era: str, tmp_path: Path
) -> None:
    server, trace = stage.server(peer), tmp_path / "trace.jsonl"
    client = client_of(stage, client_era, server, "--trace", str(trace), capabilities=ABLE)
    ask = "trigger-elicitation-request"  # which this server has for clients that can be asked
    assert "result" in Asked(client, ask).answer(DECLINED)
    match = re.search(r"mcp-session-id\W+([0-9a-f-]{36})", trace.read_text(), re.IGNORECASE)
    assert match
    delete_session(stage, server, match[1])
    assert "result" in Asked(client, ask).answer(DECLINED)
    assert not [message for message in client.drain(QUIET_SECONDS) if "id" in message]


@requirement("session.expired")
@with_both_clients
@on_legacy_sdk_servers
def test_a_call_in_flight_when_its_session_is_deleted_is_in_doubt_and_is_not_made_again(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server, key = stage.server(peer, kind), next(_keys)
    client = client_of(stage, client_era, server)
    session = session_of(client)
    call = client.start_call("hold", key=key, loud=False)
    server.says(f"started {key}$", stage.deadline)
    delete_session(stage, server, session)
    assert client.error(call)["data"]["mayHaveExecuted"] is True
    assert session_of(client) != session
    assert_quiet(client)
    assert f"started {key}\n".encode() not in server.process.lines.left()


# -- calls at once --


@requirement("session.one-handshake", "session.expired")
@with_both_clients
@on_legacy_sdk_servers
def test_calls_that_notice_the_loss_together_cost_one_handshake_and_are_all_answered(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server, key = stage.server(peer, kind), next(_keys)
    client = client_of(stage, client_era, server)
    session = session_of(client)
    server.says("session opens", stage.deadline)
    delete_session(stage, server, session)
    # They meet, so none was answered before all had got through.
    calls = [client.start_call("meet", party=key, size=CALLS) for _ in range(CALLS)]
    assert [text_of(client.result(call)) for call in calls] == [f"{key} met"] * CALLS
    assert session_of(client) != session
    assert_quiet(client)
    opened = [line for line in server.process.lines.left() if line == b"session opens\n"]
    assert len(opened) == 1


# -- what a session holds --

LOUDEST = ["error", "critical", "alert", "emergency"]


@requirement("session.subscriptions", "session.expired")
@with_both_clients
@on_legacy_changing_servers
def test_subscriptions_outlive_a_session_that_was_deleted(
    stage: Stage, peer: Peer, server_era: str, client_era: str
) -> None:
    server = stage.server(peer, "changing")
    watcher = Watcher(stage, server, client_era, server_era)
    watcher.watch(CHANGING)
    client = watcher.client
    session = text_of(client.call("touch"))
    assert_told(client, CHANGING)
    delete_session(stage, server, session)
    # The stream has ended with the session, so the relay notices by itself.
    assert_told_all_over(client, CHANGING)
    watcher.stands(CHANGING)
    assert text_of(client.call("touch")) not in ("", session)
    assert_told(client, CHANGING)


@requirement("session.subscriptions")
@on_legacy_changing_servers
def test_the_log_level_outlives_a_session_that_was_deleted(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    server = stage.server(peer, "changing")
    client = stage.legacy(server, "--protocol-era", server_era)
    assert client.request("logging/setLevel", {"level": LOUDEST[0]}) == {}
    assert levels_of(client) == LOUDEST
    delete_session(stage, server, text_of(client.call("touch")))
    assert levels_of(client) == LOUDEST


def levels_of(client: StdioClient) -> list[str]:
    """The levels of the messages that a server logs in one call."""
    client.call("log")
    logged = [
        each for each in client.drain(QUIET_SECONDS) if each["method"] == "notifications/message"
    ]
    return [each["params"]["level"] for each in logged]
