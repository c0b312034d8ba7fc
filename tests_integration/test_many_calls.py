"""Many calls at a time: none waits for another, and each gets its own answer once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count, cycle

from tests_integration.harness.pairings import (
    assert_quiet,
    client_of,
    on_legacy_sdk_servers,
    on_sdk_servers,
    text_of,
    with_both_clients,
)
from tests_integration.harness.peers import on
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import Json, RequestId, StdioClient
from tests_integration.manifest import requirement

CALLS = 64

_keys = (f"many-{number}" for number in count())

ALIKE: tuple[tuple[RequestId, RequestId], ...] = ((7, "7"), ("7", 7))
"""Ids that differ by type alone: of a slow call, and of the quick one that passes it."""


def called(tool: str, **arguments: object) -> Json:
    """The params of a call."""
    return {"name": tool, "arguments": arguments}


def assert_answered_once(
    client: StdioClient,
    answers: Mapping[RequestId, str],
    said: Callable[[Json], str] = text_of,
) -> None:
    """Each id has a result that says its own, whatever their order, and nothing else comes."""
    assert {each: said(client.result(each)) for each in answers} == answers
    assert_quiet(client)


def bus_of(result: Json) -> str:
    """The bus that a result of our service is about."""
    data = result["structuredContent"]["data"]
    name: str = data["interface"] if "interface" in data else data["buses"][0]["name"]
    return name


# -- two at once --


@requirement("calls.two-at-once")
@with_both_clients
@on("mcp-2.3", "mcp-2.0")
def test_two_calls_of_a_modern_server_whose_ids_differ_by_type_alone_are_told_apart(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    server = stage.server(peer)
    client = client_of(stage, client_era, server)
    for slow, quick in ALIKE:
        assert_told_apart(stage, server, client, slow, quick)


@requirement("calls.two-at-once")
@on_legacy_sdk_servers
def test_two_calls_of_a_modern_client_whose_ids_differ_by_type_alone_are_told_apart(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server = stage.server(peer, kind)
    client = stage.modern(server)
    for slow, quick in ALIKE:
        assert_told_apart(stage, server, client, slow, quick)


@requirement("calls.two-at-once")
@on_legacy_sdk_servers
def test_two_calls_of_a_legacy_client_get_their_own_answers_from_a_legacy_server(
    stage: Stage, peer: Peer, kind: str
) -> None:
    """The ids reach the server as they are, and this one takes 7 and "7" for the same."""
    server = stage.server(peer, kind)
    client = stage.legacy(server)
    for slow, quick in ((7, "8"), ("7", 8)):
        assert_told_apart(stage, server, client, slow, quick)


def assert_told_apart(
    stage: Stage, server: Server, client: StdioClient, slow: RequestId, quick: RequestId
) -> None:
    """Two calls are open at once; what is said of the one leaves the other alone."""
    keys = (next(_keys), next(_keys))
    client.ask(slow, "tools/call", called("hold", key=keys[0], loud=False))
    client.ask(quick, "tools/call", called("add", a=2, b=3))
    assert text_of(client.result(quick)) == "5"
    client.ask(quick, "tools/call", called("hold", key=keys[1], loud=False))
    for key in keys:
        server.says(f"started {key}$", stage.deadline)
    client.cancel(quick)
    server.says(f"cancelled {keys[1]}$", stage.deadline)
    # The other call still holds its own id.
    assert text_of(client.call("add", a=3, b=4)) == "7"
    client.cancel(slow)
    server.says(f"cancelled {keys[0]}$", stage.deadline)
    assert_quiet(client)


@requirement("calls.two-at-once")
@with_both_clients
@on("everything")
def test_a_quick_call_passes_a_slow_one_of_an_id_like_its_own(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer))
    operation = called("trigger-long-running-operation", duration=1, steps=2)
    for slow, quick in ALIKE:
        client.ask(slow, "tools/call", {**operation, "_meta": {"progressToken": "slow"}})
        client.told("notifications/progress")
        client.ask(quick, "tools/call", called("echo", message="quick"))
        first = client.take(lambda message: "id" in message)
        assert (first["id"], type(first["id"])) == (quick, type(quick))
        assert "quick" in text_of(first["result"])
        assert "Long running operation completed" in text_of(client.result(slow))
        assert client.told("notifications/progress")["params"]["progress"] == 2
    assert_quiet(client)


@requirement("calls.two-at-once")
@with_both_clients
@on("service")
def test_our_service_answers_two_calls_whose_ids_differ_by_type_alone(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer))
    for slow, quick in ALIKE:
        # Two frames may come before or after the other answer: each goes to its own call.
        client.ask(slow, "tools/call", called("capture", interface="powertrain", count=2))
        client.ask(quick, "tools/call", called("bus_status", interface="truck"))
        assert_answered_once(client, {quick: "truck", slow: "powertrain"}, bus_of)


# -- sixty-four --


@requirement("calls.sixty-four")
@with_both_clients
@on_sdk_servers
def test_sixty_three_calls_of_sixty_four_are_answered_once_while_one_holds(
    stage: Stage, peer: Peer, kind: str, client_era: str
) -> None:
    server, key = stage.server(peer, kind), next(_keys)
    client = client_of(stage, client_era, server)
    holding = client.start_call("hold", key=key, loud=False)
    server.says(f"started {key}$", stage.deadline)
    # Those that meet are answered only when all of them are open at the server.
    guests = CALLS // 2
    meeting = [client.start_call("meet", party=key, size=guests) for _ in range(guests)]
    sums = [client.start_call("add", a=number, b=1) for number in range(guests - 1)]
    assert len([holding, *meeting, *sums]) == CALLS
    answers: dict[RequestId, str] = dict.fromkeys(meeting, f"{key} met")
    answers.update({call: str(total) for total, call in enumerate(sums, 1)})
    assert_answered_once(client, answers)
    client.cancel(holding)
    server.says(f"cancelled {key}$", stage.deadline)
    assert_quiet(client)


@requirement("calls.sixty-four")
@with_both_clients
@on("service")
def test_our_service_answers_sixty_three_calls_of_sixty_four_while_one_captures(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    """Nothing sends the identifier, so the capture would only end by its own 20 seconds."""
    client = client_of(stage, client_era, stage.server(peer))
    capture = client.start_call(
        "capture", interface="powertrain", seconds=20, expression="id == 0x7FF"
    )
    asked: dict[RequestId, str] = {}
    for _, bus in zip(range(CALLS - 1), cycle(("powertrain", "truck")), strict=False):
        asked[client.start_call("bus_status", interface=bus)] = bus
    assert_answered_once(client, asked, bus_of)
    client.cancel(capture)
    assert client.call("config_show")
    assert_quiet(client)
