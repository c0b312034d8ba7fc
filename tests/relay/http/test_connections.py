"""How every implementation of ``HttpClient`` uses its connections and follows redirects."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress

import pytest

from relay.core.events import Failure
from relay.http.errors import HttpConfigError, InvalidHeaderError, InvalidUrlError
from relay.http.interface import HttpRequest
from relay.http.target import MAX_REDIRECTS
from tests.relay.http.conftest import Implementation, Open
from tests.relay.http.exchanges import GET, POST, failure_of, fetch
from tests.relay.http.server import Peer, Received, serve


async def answering(peer: Peer) -> None:
    while True:
        await peer.request()
        await peer.answer(b"ok")


async def test_a_connection_is_used_again(opened: Open) -> None:
    async with serve(answering) as server, opened(server.url) as client:
        for _ in range(3):
            assert (await fetch(client)).body == b"ok"
    assert len(server.peers) == 1


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_a_connection_that_the_server_will_close_is_not_used_again(
    opened: Open, head: bytes
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(head + b"ok")
        await peer.closed()

    async with serve(handler) as server, opened(server.url) as client:
        for _ in range(2):
            assert (await fetch(client)).body == b"ok"
    assert len(server.peers) == 2


async def test_a_connection_closed_at_rest_is_replaced_unnoticed(opened: Open) -> None:
    """Also where the close has arrived and the event loop has not yet come to it."""

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"ok")

    async with serve(handler) as server, opened(server.url) as client:
        for _ in range(20):
            assert (await fetch(client)).body == b"ok"
    assert len(server.peers) == 20


async def test_a_request_is_not_repeated_when_a_used_connection_closes_on_it(opened: Open) -> None:
    bodies = []

    async def handler(peer: Peer) -> None:
        bodies.append((await peer.request()).body)
        await peer.answer(b"ok")
        bodies.append((await peer.request()).body)

    async with serve(handler) as server, opened(server.url) as client:
        await fetch(client, HttpRequest("POST", (), b"first"))
        error = await failure_of(client, HttpRequest("POST", (), b"second"))
    assert error.failure is Failure.CLOSED
    assert error.may_have_executed
    assert bodies == [b"first", b"second"]
    assert len(server.peers) == 1


async def test_reading_a_left_exchange_is_refused(opened: Open) -> None:
    """Its connection may belong to another exchange by then."""
    async with serve(answering) as server, opened(server.url) as client:
        async with client.exchange(GET) as response:
            chunks = response.chunks()
        with pytest.raises(RuntimeError):
            await anext(chunks)


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_of_the_same_origin_repeats_the_request_there(
    opened: Open, status: int
) -> None:
    received: list[Received] = []

    async def handler(peer: Peer) -> None:
        while True:
            received.append(await peer.request())
            if received[-1].path == "/mcp":
                await peer.answer(b"", "Location: /mcp/?a=b", status=status)
            else:
                await peer.answer(b"there")

    headers = [("Authorization", "Bearer t")]
    async with serve(handler) as server, opened(server.url, headers=headers) as client:
        assert (await fetch(client)).body == b"there"
    assert [request.path for request in received] == ["/mcp", "/mcp/?a=b"]
    assert [request.method for request in received] == ["POST", "POST"]
    assert [request.body for request in received] == [POST.body, POST.body]
    assert received[1].headers["authorization"] == "Bearer t"


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "/there"),
        (302, "/there"),
        (303, "/there"),
        (307, "http://127.0.0.2:1/there"),
        (307, "http://127.0.0.1:1/there"),
        (308, "http://user:secret@127.0.0.1/there"),
        (308, "ftp://127.0.0.1/there"),
        (308, "http://[broken/there"),
    ],
)
async def test_any_other_redirect_is_returned_as_it_is(
    opened: Open, status: int, location: str
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"moved", f"Location: {location}", status=status)

    async with serve(handler) as server, opened(server.url) as client:
        answer = await fetch(client)
    assert (answer.status, answer.body) == (status, b"moved")
    assert len(server.peers) == 1


async def test_redirects_in_a_circle_come_to_an_end(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        while True:
            paths.append((await peer.request()).path)
            await peer.answer(b"", "Location: /mcp", status=307)

    paths: list[str] = []
    async with serve(handler) as server, opened(server.url) as client:
        assert (await fetch(client)).status == 307
    assert len(paths) == 1 + MAX_REDIRECTS


def has_ipv6() -> bool:
    with suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
async def test_ipv6_literals_are_reached(opened: Open) -> None:
    async with serve(answering, host="::1") as server, opened(server.url) as client:
        assert (await fetch(client)).body == b"ok"


@pytest.mark.parametrize(
    ("url", "headers", "error"),
    [
        ("rig.example/mcp", (), InvalidUrlError),
        ("http://rig.example/mcp", (("X-A\r\n", "b"),), InvalidHeaderError),
    ],
)
async def test_what_cannot_be_used_is_refused_at_once(
    implementation: Implementation,
    url: str,
    headers: Sequence[tuple[str, str]],
    error: type[HttpConfigError],
) -> None:
    with pytest.raises(error):
        implementation(url, headers=headers)


async def test_a_header_that_cannot_be_sent_fails_its_exchange_alone(opened: Open) -> None:
    async with serve(answering) as server, opened(server.url) as client:
        error = await failure_of(client, HttpRequest("POST", (("Mcp-Name", "a\r\nX: y"),)))
        assert error.failure is Failure.PROTOCOL
        assert "Mcp-Name" in error.detail
        assert not error.may_have_executed
        assert (await fetch(client)).body == b"ok"
