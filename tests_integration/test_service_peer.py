"""Our own service behind the relay: calls, refusals, cancelled captures, restarts and its end."""

from __future__ import annotations

import json
import re

import pytest

from tests_integration.harness.pairings import client_of, with_both_clients
from tests_integration.harness.peers import on
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import Json, StdioClient
from tests_integration.manifest import requirement

on_service = on("service")
in_each_server_era = pytest.mark.parametrize("server_era", ["legacy", "modern"])
"""The service speaks both: what the relay speaks to it."""

CAPTURE: Json = {"interface": "powertrain", "seconds": 20, "expression": "id == 0x7FF"}
"""Nothing sends that identifier, so the capture only ends by its own 20 seconds."""

AT_A_TIME = 4
"""Captures that a client has open at a time."""

PAIRINGS = [(client, server) for client in ("legacy", "modern") for server in ("legacy", "modern")]


@pytest.fixture(scope="module")
def running() -> dict[str, Server]:
    """The service of those tests that leave it as it was."""
    return {}


@pytest.fixture
def server(peer: Peer, running: dict[str, Server]) -> Server:
    if not running:
        running["service"] = peer.start()
    return running["service"]


def clients_of(stage: Stage, server: Server) -> list[StdioClient]:
    """One client in each pairing, each behind its own relay."""
    return [
        client_of(stage, client_era, server, "--protocol-era", server_era)
        for client_era, server_era in PAIRINGS
    ]


def envelope_of(result: Json) -> Json:
    """What a tool answers, twice: as text and as structured content."""
    envelope: Json = result["structuredContent"]
    [block] = result["content"]
    assert json.loads(block["text"]) == envelope
    assert result["isError"] is not envelope["ok"]
    return envelope


def refusal_of(result: Json) -> str:
    """The code of the one error in a refusal, which says what to do about it."""
    [error] = envelope_of(result)["errors"]
    assert error["message"]
    assert error["hint"]
    code: str = error["code"]
    return code


def assert_captures(client: StdioClient) -> None:
    heard = envelope_of(client.call("capture", interface="powertrain", count=3))["data"]
    assert (heard["frame_count"], heard["ended_by"]) == (3, "count")


def outcomes(server: Server, tool: str) -> list[str]:
    """What became of the calls of a tool, in order, as the service's log has it."""
    lines = [json.loads(line) for line in server.process.stderr().splitlines() if line]
    return [line["result"] for line in lines if line.get("tool") == tool]


# -- calls and refusals --


@requirement("service.calls")
@with_both_clients
@in_each_server_era
@on_service
def test_the_service_lists_calls_and_refuses_in_its_envelope(
    stage: Stage, server: Server, server_era: str, client_era: str
) -> None:
    client = client_of(stage, client_era, server, "--protocol-era", server_era)
    tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
    assert {"bus_status", "capture", "decode", "send"} <= tools.keys()
    assert tools["capture"]["inputSchema"]["required"] == ["interface"]
    status = envelope_of(client.call("bus_status"))
    assert [bus["name"] for bus in status["data"]["buses"]] == ["powertrain", "truck"]
    assert_captures(client)
    assert refusal_of(client.call("nobody")) == "UNKNOWN_TOOL"
    assert refusal_of(client.call("capture", interface="nowhere")) == "BUS_NOT_FOUND"
    frame = {"interface": "truck", "frame_id": "0x123", "data": "00", "ack_active": True}
    assert envelope_of(client.call("send", **frame))["ok"]
    assert refusal_of(client.call("send", **frame, dry_run=False)) == "TRANSMIT_NOT_ARMED"
    assert client.error(client.start("prompts/list"))["code"] == -32601
    assert client.process.lines.left() == []


@requirement("service.unknown-argument")
@with_both_clients
@on_service
def test_arguments_that_do_not_fit_are_refused_by_name(
    stage: Stage, server: Server, client_era: str
) -> None:
    client = client_of(stage, client_era, server)
    refused: dict[str, Json] = {
        "bogus": {"interface": "powertrain", "bogus": 1},
        "interface": {},
        "seconds": {"interface": "powertrain", "seconds": 99},
    }
    for name, arguments in refused.items():
        result = client.call("capture", **arguments)
        assert result["isError"]
        assert f"'{name}'" in result["content"][0]["text"]


# -- cancelled captures --


@requirement("service.cancelled-capture")
@with_both_clients
@in_each_server_era
@on_service
def test_captures_that_are_cancelled_end_at_the_service_and_free_the_bus(
    stage: Stage, server: Server, server_era: str, client_era: str
) -> None:
    client = client_of(stage, client_era, server, "--protocol-era", server_era)
    before = outcomes(server, "capture").count("cancelled")
    captures = [client.start_call("capture", **CAPTURE) for _ in range(AT_A_TIME)]
    assert_captures(client)
    for capture in captures:
        client.cancel(capture)
    # The service says nothing on stdout, so it is called until its log has them all.
    while outcomes(server, "capture").count("cancelled") < before + AT_A_TIME:
        client.call("bus_status", interface="powertrain")
    assert_captures(client)
    assert client.drain() == []


# -- restart and end --


@requirement("restart.idle")
@on_service
def test_a_service_that_was_restarted_is_used_again_in_each_pairing(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer)
    clients = clients_of(stage, server)
    for client in clients:
        assert_captures(client)
    peer.restart(server)
    for client in clients:
        assert_captures(client)
        assert client.process.lines.left() == []


@requirement("service.ends")
@on_service
def test_the_service_ends_on_a_signal_while_relays_of_each_pairing_have_streams_open(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer)
    clients = clients_of(stage, server)
    captures = [(client, client.start_call("capture", **CAPTURE)) for client in clients]
    for client in clients:
        assert_captures(client)
    server.process.terminate()
    for client, capture in captures:
        error = client.error(capture)
        assert re.search("the server failed|the connection was lost", error["message"])
        assert error["data"]["mayHaveExecuted"]
    assert server.process.wait(stage.deadline.left()) == 0
    for client in clients:
        assert stage.end(client)[0] == 0
