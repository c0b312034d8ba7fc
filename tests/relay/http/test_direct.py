"""How the direct client uses its connections and follows redirects."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from relay.core.events import Failure
from relay.http.direct import MAX_REDIRECTS, DirectHttpClient
from relay.http.errors import HttpConfigError, InvalidHeaderError, InvalidUrlError
from relay.http.interface import HttpRequest
from relay.http.pool import MAX_IDLE
from tests.relay.http.exchanges import GET, POST, failure_of, fetch
from tests.relay.http.server import PATIENCE, Peer, Received, serve


async def answering(peer: Peer) -> None:
    while True:
        await peer.request()
        await peer.answer(b"ok")


@asynccontextmanager
async def client_of(
    url: str, headers: Sequence[tuple[str, str]] = (), idle_expiry: float = 60
) -> AsyncIterator[DirectHttpClient]:
    client = DirectHttpClient(url, headers=headers, idle_expiry=idle_expiry)
    try:
        yield client
    finally:
        await client.aclose()


async def test_a_connection_is_used_again() -> None:
    async with serve(answering) as server, client_of(server.url) as client:
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
async def test_a_connection_that_the_server_will_close_is_not_used_again(head: bytes) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(head + b"ok")
        await peer.closed()

    async with serve(handler) as server, client_of(server.url) as client:
        for _ in range(2):
            assert (await fetch(client)).body == b"ok"
    assert len(server.peers) == 2


async def test_bytes_behind_a_response_are_never_taken_for_the_next_one() -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        smuggled = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + smuggled)
        await peer.closed()

    async with serve(handler) as server, client_of(server.url) as client:
        for _ in range(2):
            assert (await fetch(client)).body == b"ok"
    assert len(server.peers) == 2


async def test_an_answer_to_nothing_costs_the_resting_connection() -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"ok")
        with anyio.fail_after(PATIENCE):
            await resting.wait()
        await peer.answer(b"unasked", status=408)
        await peer.closed()
        unasked_closed.set()

    resting, unasked_closed = asyncio.Event(), asyncio.Event()
    async with serve(handler) as server, client_of(server.url) as client:
        assert (await fetch(client)).body == b"ok"
        resting.set()
        with anyio.fail_after(PATIENCE):
            await unasked_closed.wait()
        assert (await fetch(client)).body == b"ok"
    assert len(server.peers) == 2


async def test_a_connection_closed_at_rest_is_replaced_unnoticed() -> None:
    """Also where the close has arrived and the event loop has not yet come to it."""

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"ok")

    async with serve(handler) as server, client_of(server.url) as client:
        for _ in range(20):
            assert (await fetch(client)).body == b"ok"
    assert len(server.peers) == 20


async def test_a_request_is_not_repeated_when_a_used_connection_closes_on_it() -> None:
    bodies = []

    async def handler(peer: Peer) -> None:
        bodies.append((await peer.request()).body)
        await peer.answer(b"ok")
        bodies.append((await peer.request()).body)

    async with serve(handler) as server, client_of(server.url) as client:
        await fetch(client, HttpRequest("POST", (), b"first"))
        error = await failure_of(client, HttpRequest("POST", (), b"second"))
    assert error.failure is Failure.CLOSED
    assert error.may_have_executed
    assert bodies == [b"first", b"second"]
    assert len(server.peers) == 1


async def test_a_resting_connection_is_closed_when_its_time_is_over() -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"ok")
        await peer.closed()
        closed.release()

    closed = asyncio.Semaphore(0)
    async with serve(handler) as server, client_of(server.url, idle_expiry=0.02) as client:
        for _ in range(2):
            await asyncio.gather(*(fetch(client) for _ in range(3)))
            with anyio.fail_after(PATIENCE):
                for _ in range(3):
                    await closed.acquire()
    assert len(server.peers) == 6


async def test_the_number_of_resting_connections_is_bounded() -> None:
    count = MAX_IDLE + 8
    together = asyncio.Barrier(count)
    closed = asyncio.Semaphore(0)

    async def handler(peer: Peer) -> None:
        await peer.request()
        with anyio.fail_after(PATIENCE):
            await together.wait()
        await peer.answer(b"ok")
        await peer.closed()
        closed.release()

    async with serve(handler) as server, client_of(server.url) as client:
        await asyncio.gather(*(fetch(client) for _ in range(count)))
        with anyio.fail_after(PATIENCE):
            for _ in range(8):
                await closed.acquire()
        assert closed.locked()


async def test_reading_a_left_exchange_is_refused() -> None:
    """Its connection may belong to another exchange by then."""
    async with serve(answering) as server, client_of(server.url) as client:
        async with client.exchange(GET) as response:
            chunks = response.chunks()
        with pytest.raises(RuntimeError):
            await anext(chunks)


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_of_the_same_origin_repeats_the_request_there(status: int) -> None:
    received: list[Received] = []

    async def handler(peer: Peer) -> None:
        while True:
            received.append(await peer.request())
            if received[-1].path == "/mcp":
                await peer.answer(b"", "Location: /mcp/?a=b", status=status)
            else:
                await peer.answer(b"there")

    headers = [("Authorization", "Bearer t")]
    async with serve(handler) as server, client_of(server.url, headers) as client:
        assert (await fetch(client)).body == b"there"
    assert [request.path for request in received] == ["/mcp", "/mcp/?a=b"]
    assert [request.method for request in received] == ["POST", "POST"]
    assert [request.body for request in received] == [POST.body, POST.body]
    assert received[1].headers["authorization"] == "Bearer t"
    assert len(server.peers) == 1


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
async def test_any_other_redirect_is_returned_as_it_is(status: int, location: str) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"moved", f"Location: {location}", status=status)

    async with serve(handler) as server, client_of(server.url) as client:
        answer = await fetch(client)
    assert (answer.status, answer.body) == (status, b"moved")
    assert len(server.peers) == 1


async def test_redirects_in_a_circle_come_to_an_end() -> None:
    async def handler(peer: Peer) -> None:
        while True:
            paths.append((await peer.request()).path)
            await peer.answer(b"", "Location: /mcp", status=307)

    paths: list[str] = []
    async with serve(handler) as server, client_of(server.url) as client:
        assert (await fetch(client)).status == 307
    assert len(paths) == 1 + MAX_REDIRECTS


def has_ipv6() -> bool:
    with suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
async def test_ipv6_literals_are_reached() -> None:
    async with serve(answering, host="::1") as server, client_of(server.url) as client:
        assert (await fetch(client)).body == b"ok"


@pytest.mark.parametrize(
    ("url", "headers", "error"),
    [
        ("rig.example/mcp", (), InvalidUrlError),
        ("http://rig.example/mcp", (("X-A\r\n", "b"),), InvalidHeaderError),
    ],
)
async def test_what_cannot_be_used_is_refused_at_once(
    url: str, headers: Sequence[tuple[str, str]], error: type[HttpConfigError]
) -> None:
    with pytest.raises(error):
        DirectHttpClient(url, headers=headers)


async def test_a_header_that_cannot_be_sent_fails_its_exchange_alone() -> None:
    async with serve(answering) as server, client_of(server.url) as client:
        error = await failure_of(client, HttpRequest("POST", (("Mcp-Name", "a\r\nX: y"),)))
        assert error.failure is Failure.PROTOCOL
        assert "Mcp-Name" in error.detail
        assert not error.may_have_executed
        assert (await fetch(client)).body == b"ok"
