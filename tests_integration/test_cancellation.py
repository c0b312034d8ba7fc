"""Cancellation in each of its windows, for both clients, and answers that take their time.

The windows: the relay has not sent the call yet, its response has not begun, or it has. The last
one on servers of 2026-07-28 is the sixth scenario of ``test_modern_reference``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.client import HTTPConnection
from itertools import count
from urllib.parse import urlsplit

import pytest

from tests_integration.harness.pairings import (
    client_of,
    on_modern_releases,
    text_of,
    with_both_clients,
)
from tests_integration.harness.peers import on
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import (
    META,
    MODERN,
    StdioClient,
    parse,
)
from tests_integration.manifest import requirement

on_legacy_servers = on("mcp-2.3", "mcp-2.0", "mcp-1")

SILENT_SECONDS = 16.0
"""A little longer than the SDK holds back the head of a response."""

_keys = (f"cancellation-{number}" for number in count())


def assert_no_answer_comes(stage: Stage, client: StdioClient) -> None:
    """Not even as the relay ends, which answers whatever is open then."""
    heard = client.drain()
    stage.end(client)
    heard += [parse(line) for line in client.process.lines.left()]
    assert not [message for message in heard if "id" in message]


# -- before it is sent --


in_each_queue = pytest.mark.parametrize("queue", ["connection", "era", "session"])
"""What a call waits for: that the server is there again, or that it says what it is."""


@requirement("cancel.queued")
@in_each_queue
@on_modern_releases
def test_a_call_that_is_cancelled_before_a_modern_server_gets_it_is_never_started(
    stage: Stage, peer: Peer, queue: str
) -> None:
    cancel_in(queue, stage, peer, kind="dual", server_era="modern")


@requirement("cancel.queued")
@in_each_queue
@on_legacy_servers
def test_a_call_that_is_cancelled_before_a_legacy_server_gets_it_is_never_started(
    stage: Stage, peer: Peer, queue: str
) -> None:
    cancel_in(queue, stage, peer, kind="legacy", server_era="legacy")


def cancel_in(queue: str, stage: Stage, peer: Peer, kind: str, server_era: str) -> None:
    """Have a call of each client cancelled while there is no server, and start it again."""
    server = stage.server(peer, kind)
    if queue == "connection":
        legacy, modern = stage.legacy(server), stage.modern(server)
        legacy.call("add", a=2, b=3)
        modern.call("add", a=2, b=3)
        peer.kill(server)
    else:
        peer.kill(server)
        options = ("--protocol-era", server_era) if queue == "session" else ()
        legacy, modern = stage.unopened(server, *options), stage.modern(server, *options)
    handshake = None if queue == "connection" else legacy.start_handshake()
    keys: dict[str, StdioClient] = {next(_keys): legacy, next(_keys): modern}
    for key, client in keys.items():
        client.cancel(client.start_call("hold", key=key, loud=False))
        # What is no message is answered at once: then all that came before has been read.
        client.process.write(b"17\n")
        client.take(lambda message: "error" in message and message["id"] is None)
    if queue == "connection":
        # What is called now is tried again at the same times, so it tells when all has been sent.
        later = [client.start_call("add", a=2, b=3) for client in (legacy, modern)]
    peer.restart(server, kind)
    if handshake is not None:
        legacy.finish_handshake(handshake)
        later = [client.start_call("add", a=2, b=3) for client in (legacy, modern)]
    for client, call in zip((legacy, modern), later, strict=True):
        assert text_of(client.result(call)) == "5"
        assert_no_answer_comes(stage, client)
    said = b"".join(server.process.lines.left()).decode().split()
    assert not keys.keys() & set(said)


# -- before its response begins --


@requirement("cancel.before-headers", "cancel.latency")
@with_both_clients
@on_modern_releases
def test_a_call_that_is_cancelled_before_its_response_begins_has_its_post_closed(
    stage: Stage,
    peer: Peer,
    client_era: str,
    measured: Callable[[str, float], None],
    request: pytest.FixtureRequest,
) -> None:
    """The SDK sends no byte of a response before the tool says something."""
    client, seconds = cancel_at_the_server(stage, peer, "dual", client_era, loud=False)
    measured(f"{request.node.callspec.id}: to cancel a tool before its response", seconds)
    assert text_of(client.call("add", a=2, b=3)) == "5"
    assert_no_answer_comes(stage, client)


@requirement("cancel.before-headers")
@with_both_clients
@on_legacy_servers
def test_a_silent_call_that_is_cancelled_is_cancelled_at_a_legacy_server(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    client, _ = cancel_at_the_server(stage, peer, "legacy", client_era, loud=False)
    assert text_of(client.call("add", a=2, b=3)) == "5"
    assert_no_answer_comes(stage, client)


# -- within its response --


@requirement("cancel.mid-stream")
@with_both_clients
@on_legacy_servers
def test_a_call_that_is_cancelled_within_its_response_is_cancelled_at_a_legacy_server(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    client, _ = cancel_at_the_server(stage, peer, "legacy", client_era, loud=True)
    assert text_of(client.call("add", a=2, b=3)) == "5"
    assert_no_answer_comes(stage, client)


def cancel_at_the_server(
    stage: Stage, peer: Peer, kind: str, client_era: str, *, loud: bool
) -> tuple[StdioClient, float]:
    """Cancel a call that runs; the client, and the time until the tool was cancelled."""
    key, server = next(_keys), stage.server(peer, kind)
    client = client_of(stage, client_era, server)
    call = client.start_call("hold", {"progressToken": key}, key=key, loud=loud)
    server.says(f"started {key}$", stage.deadline)
    if loud:
        assert client.told("notifications/progress")["params"]["progressToken"] == key
    sent = time.perf_counter()
    client.cancel(call)
    server.says(f"cancelled {key}$", stage.deadline)
    return client, time.perf_counter() - sent


# -- a response that is long in coming --


@requirement("headers.deferred")
@on_modern_releases
def test_a_server_that_holds_back_the_head_of_its_response_is_waited_for(
    stage: Stage,
    peer: Peer,
    measured: Callable[[str, float], None],
    request: pytest.FixtureRequest,
) -> None:
    server = stage.server(peer)
    calls = [
        (client, client.start_call("rest", seconds=SILENT_SECONDS))
        for client in (stage.legacy(server), stage.modern(server))
    ]
    seconds = seconds_to_the_head(server, stage.deadline.left())
    measured(f"{request.node.callspec.id}: to the head of a silent tool's response", seconds)
    for client, call in calls:
        assert text_of(client.result(call)) == "rested"


def seconds_to_the_head(server: Server, limit: float) -> float:
    """Call the tool without a relay, see it answered, and tell how long no byte came."""
    address = urlsplit(server.url)
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    params = {"name": "rest", "arguments": {"seconds": SILENT_SECONDS}, "_meta": meta}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "rest",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    connection = HTTPConnection(address.netloc, timeout=limit)
    try:
        sent = time.perf_counter()
        connection.request("POST", address.path, json.dumps(body), headers)
        response = connection.getresponse()
        seconds = time.perf_counter() - sent
        assert (response.status, b"rested" in response.read()) == (200, True)
    finally:
        connection.close()
    return seconds
