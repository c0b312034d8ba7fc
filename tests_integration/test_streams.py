"""The standing stream of a legacy server, and streams that are taken up where they broke off."""

from __future__ import annotations

from itertools import count

from tests_integration.harness.changes import (
    CHANGING,
    OTHER,
    assert_told,
    next_change,
    on_legacy_changing_servers,
    what_changed,
)
from tests_integration.harness.pairings import (
    client_of,
    on_servers,
    text_of,
    with_both_clients,
)
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import Json, LegacyClient, ModernClient, StdioClient
from tests_integration.manifest import requirement
from tests_integration.peers.calls import LEVELS

RESUMING = "2025-11-25"
"""The revision in which servers close streams for clients to come back."""

_parties = (f"poll-{number}" for number in count())

AS_LEGACY = ("--protocol-era", "legacy")

on_polling_servers = on_servers(
    "kind", ("mcp-2.3", "polling"), ("mcp-2.0", "polling"), ("mcp-1", "polling")
)


def resuming_client(stage: Stage, era: str, server: Server) -> LegacyClient | ModernClient:
    """A client whose session at the server, or the relay's for it, is of 2025-11-25."""
    if era == "modern":
        return stage.modern(server, *AS_LEGACY)
    client = stage.unopened(server, *AS_LEGACY)
    assert client.initialize(version=RESUMING)["protocolVersion"] == RESUMING
    return client


def watch(stage: Stage, server: Server, client: LegacyClient | ModernClient, *uris: str) -> None:
    """Subscribe to resources, and see that the standing stream is there to tell of them."""
    if isinstance(client, ModernClient):
        client.listen(resourceSubscriptions=list(uris))
    else:
        for uri in uris:
            assert client.request("resources/subscribe", {"uri": uri}) == {}
    server.says("stream begins", stage.deadline)


# -- the standing stream --


@requirement("stream.standing")
@with_both_clients
@on_legacy_changing_servers
def test_a_client_that_has_nothing_open_is_told_of_what_another_client_has_changed(
    stage: Stage, peer: Peer, server_era: str, client_era: str
) -> None:
    server = stage.server(peer, "changing")
    idle = resuming_client(stage, client_era, server)
    watch(stage, server, idle, CHANGING)
    busy = client_of(stage, client_era, server, *AS_LEGACY)
    busy.call("touch", uri=OTHER)
    busy.call("touch")
    assert_told(idle, CHANGING)
    assert busy.process.lines.left() == []


@requirement("stream.standing")
@on_legacy_changing_servers
def test_what_a_server_logs_outside_of_any_request_reaches_a_legacy_client(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    server = stage.server(peer, "changing")
    client = resuming_client(stage, "legacy", server)
    server.says("stream begins", stage.deadline)
    client.call("log", aside=True)
    heard = [client.told("notifications/message")["params"] for _ in LEVELS]
    assert [each["level"] for each in heard] == list(LEVELS)
    assert client.drain() == []


@requirement("call.log-level")
@on_legacy_changing_servers
def test_what_a_server_logs_outside_of_any_request_is_kept_from_a_modern_client_that_wants_no_log(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    server = stage.server(peer, "changing")
    client = resuming_client(stage, "modern", server)
    client.request("tools/list")
    server.says("stream begins", stage.deadline)
    client.call("log", aside=True)
    assert client.drain() == []


# -- a call whose stream the server closes midway --


def until_answered(client: StdioClient, *calls: int) -> list[Json]:
    """All that comes until the last of some calls is answered, in the order in which it came."""
    came: list[Json] = []
    missing = set(calls)
    while missing:
        came.append(client.take(lambda _: True))
        missing -= {came[-1].get("id")}
    return came


def steps_of(came: list[Json], token: str) -> list[float]:
    """The progress of one call."""
    told = [message["params"] for message in came if "method" in message]
    return [each["progress"] for each in told if each["progressToken"] == token]


@requirement("stream.resumed-call")
@with_both_clients
@on_polling_servers
def test_a_call_whose_stream_is_closed_midway_is_told_and_answered_in_order_and_once(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server, party = stage.server(peer, kind), next(_parties)
    client = resuming_client(stage, client_era, server)
    client.request("tools/list")
    server.says("stream begins", stage.deadline)
    call = client.start_call("poll", {"progressToken": "mine"}, steps=8, party=party)
    assert client.told("notifications/progress")["params"]["progress"] == 1
    assert text_of(client.call("meet", party=party, size=2)) == f"{party} met"
    server.says("stream begins", stage.deadline)  # another one, for the rest
    came = until_answered(client, call)
    assert text_of(came[-1]["result"]) == "polled 8"
    assert steps_of(came, "mine") == list(range(2, 9))
    assert len(came) == 8
    assert client.drain() == []


@requirement("stream.resumed-call")
@with_both_clients
@on_polling_servers
def test_calls_whose_streams_are_closed_at_a_time_are_each_taken_up_behind_their_own_last_event(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server = stage.server(peer, kind)
    client = resuming_client(stage, client_era, server)
    steps = {f"call of {size}": size for size in (2, 3, 4, 5)}
    calls = {
        client.start_call("poll", {"progressToken": token}, steps=size): size
        for token, size in steps.items()
    }
    came = until_answered(client, *calls)
    answers = {each["id"]: text_of(each["result"]) for each in came if "id" in each}
    assert answers == {call: f"polled {size}" for call, size in calls.items()}
    for token, size in steps.items():
        assert steps_of(came, token) == list(range(1, size + 1))
    assert len(came) == sum(steps.values()) + len(steps)
    assert client.drain() == []


# -- a standing stream that is dropped --


@requirement("stream.resumed-standing")
@with_both_clients
@on_legacy_changing_servers
def test_a_standing_stream_that_is_dropped_is_resumed_without_loss_or_repetition(
    stage: Stage, peer: Peer, server_era: str, client_era: str
) -> None:
    server = stage.server(peer, "changing-events")
    client = resuming_client(stage, client_era, server)
    watch(stage, server, client, CHANGING, OTHER)
    # The SDK gives the stream no id before its first event, and so nothing to resume from.
    client.call("touch")
    assert what_changed(next_change(client)) == CHANGING
    for _ in range(2):
        client.call("drop", uri=OTHER)  # and changes it while there is no stream
        client.call("touch")
        server.says("stream begins", stage.deadline)
        for uri in (OTHER, CHANGING):
            assert what_changed(next_change(client)) == uri
        client.call("touch", uri=OTHER)
        assert what_changed(next_change(client)) == OTHER
    assert client.drain() == []
