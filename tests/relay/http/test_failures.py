"""What goes wrong on the way, and what is said about it."""

from __future__ import annotations

import asyncio
import gzip

import anyio
import pytest

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.interface import HttpRequest, Timeouts
from tests.relay.http.conftest import Open
from tests.relay.http.exchanges import GET, failure_of, fetch
from tests.relay.http.server import PATIENCE, Peer, serve

SHORT = 0.05  # seconds, for what is to strike
AMPLE = 1.0  # seconds, for what is not


async def unused_port() -> int:
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def test_nobody_listens(opened: Open) -> None:
    port = await unused_port()
    async with opened(f"http://127.0.0.1:{port}/mcp") as client:
        error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert error.detail == f"connection refused by 127.0.0.1:{port}"
    assert not error.may_have_executed


async def test_an_unknown_host_is_named(opened: Open) -> None:
    async with opened("http://rig.invalid/mcp") as client:  # never exists (RFC 6761, 6.4)
        error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert "'rig.invalid' cannot be resolved" in error.detail
    assert not error.may_have_executed


async def test_a_server_that_never_answers(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.closed()

    async with (
        serve(handler) as server,
        opened(server.url, timeouts=Timeouts(head=SHORT)) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.HEADERS_TIMEOUT
    assert error.detail == f"127.0.0.1:{server.port} did not begin to answer within 0.05 s"
    assert error.may_have_executed


async def test_a_server_that_never_reads(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.head()
        await ended.wait()

    ended = asyncio.Event()
    async with (
        serve(handler) as server,
        opened(server.url, timeouts=Timeouts(head=SHORT)) as client,
    ):
        error = await failure_of(client, HttpRequest("POST", (), bytes(64 << 20)))
        ended.set()
    assert error.failure is Failure.HEADERS_TIMEOUT
    assert "did not read the request" in error.detail
    assert error.may_have_executed


async def test_silence_within_a_body(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.begin_stream()
        await peer.send_chunk(b": ping\n\n")
        await peer.closed()

    async with (
        serve(handler) as server,
        opened(server.url, timeouts=Timeouts(idle=SHORT)) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.IDLE_TIMEOUT
    assert "silent for 0.05 s" in error.detail
    assert error.may_have_executed


async def test_a_standing_response_may_be_silent_for_longer_than_others(opened: Open) -> None:
    other_is_over = asyncio.Event()

    async def handler(peer: Peer) -> None:
        standing = (await peer.request()).method == "GET"
        await peer.begin_stream()
        await peer.send_chunk(b": ping\n\n")
        if standing:
            await other_is_over.wait()
            await peer.send_chunk(b"data: x\n\n")
            await peer.send_chunk(b"")
        await peer.closed()

    async with (
        serve(handler) as server,
        opened(server.url, timeouts=Timeouts(idle=SHORT)) as client,
        client.exchange(HttpRequest("GET", standing=True)) as standing,
    ):
        chunks = standing.chunks()
        assert await anext(chunks) == b": ping\n\n"
        rest = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0)  # it waits for the next piece from here on
        assert (await failure_of(client)).failure is Failure.IDLE_TIMEOUT
        other_is_over.set()
        assert await rest == b"data: x\n\n"


@pytest.mark.parametrize("limits", [Timeouts(head=AMPLE), Timeouts(connect=AMPLE)])
async def test_a_deadline_is_over_with_what_it_is_for(opened: Open, limits: Timeouts) -> None:
    """Time passes, more than is allowed for what went before."""

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.begin_stream()
        await peer.send_chunk(b": ping\n\n")
        await asyncio.sleep(1.2 * AMPLE)
        await peer.send_chunk(b"data: x\n\n")
        await peer.send_chunk(b"")

    async with serve(handler) as server, opened(server.url, timeouts=limits) as client:
        assert (await fetch(client)).body == b": ping\n\ndata: x\n\n"


async def test_each_exchange_on_a_connection_has_the_whole_time(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        for wait in (0, 0.4 * AMPLE, 0.4 * AMPLE, 0.4 * AMPLE):
            await peer.request()
            await asyncio.sleep(wait)
            await peer.answer(b"ok")
        await peer.request()
        await peer.closed()

    limits = Timeouts(head=AMPLE)
    async with serve(handler) as server, opened(server.url, timeouts=limits) as client:
        for _ in range(4):
            assert (await fetch(client)).body == b"ok"
        error = await failure_of(client)
    assert error.failure is Failure.HEADERS_TIMEOUT
    assert len(server.peers) == 1


async def test_a_deadline_that_is_off_does_not_strike(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"ok")

    off = Timeouts(connect=None, head=None, idle=None)
    async with serve(handler) as server, opened(server.url, timeouts=off) as client:
        assert (await fetch(client)).body == b"ok"


@pytest.mark.parametrize(
    ("sent", "when"),
    [
        (b"", "before answering"),
        (b"HTTP/1.1 200 O", ""),
        (b"HTTP/1.1 100 Continue\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "in the middle of the response"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", "in the middle"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nsho", "in the middle"),
    ],
)
async def test_the_server_closes_too_early(opened: Open, sent: bytes, when: str) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(sent)

    async with serve(handler) as server, opened(server.url) as client:
        error = await failure_of(client)
    assert error.failure is Failure.CLOSED
    assert f"closed the connection {when}" in error.detail
    assert error.may_have_executed


async def test_the_server_resets_the_connection(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.head()
        peer.writer.transport.abort()  # with the body unread: a reset

    async with serve(handler) as server, opened(server.url) as client:
        error = await failure_of(client, HttpRequest("POST", (), bytes(1 << 20)))
    assert error.failure is Failure.CLOSED
    assert error.may_have_executed


@pytest.mark.parametrize(
    "sent",
    [
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: y\r\n\r\nz",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 400_000,
    ],
    ids=lambda value: value[:40],
)
async def test_what_is_not_http_is_refused(opened: Open, sent: bytes) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(sent)
        await peer.closed()

    async with serve(handler) as server, opened(server.url) as client:
        error = await failure_of(client)
    assert error.failure is Failure.PROTOCOL
    assert error.may_have_executed


@pytest.mark.parametrize(
    ("coding", "body", "said"),
    [
        ("br", b"x", "content coding 'br'"),
        ("gzip, gzip", b"x", "content coding 'gzip, gzip'"),
        ("gzip", b"no gzip", "damaged"),
        ("gzip", gzip.compress(b"text")[:-4], "cut off"),
        ("gzip", gzip.compress(b"text") + b"tail", "damaged"),
        ("deflate", b"\x78\x9c\xff\xff\xff", "damaged"),
        ("deflate", b"\x78", "cut off"),
    ],
)
async def test_content_that_cannot_be_decoded(
    opened: Open, coding: str, body: bytes, said: str
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(body, f"Content-Encoding: {coding}")

    async with serve(handler) as server, opened(server.url) as client:
        error = await failure_of(client)
    assert error.failure is Failure.PROTOCOL
    assert said in error.detail
    assert error.may_have_executed


async def test_a_coding_of_nothing_is_no_fault(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"", "Content-Encoding: gzip", status=202)

    async with serve(handler) as server, opened(server.url) as client:
        answer = await fetch(client)
    assert (answer.status, answer.body) == (202, b"")


async def test_what_came_before_a_failure_is_delivered(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\nzzz\r\n"
        )

    async with (
        serve(handler) as server,
        opened(server.url) as client,
        client.exchange(GET) as response,
    ):
        chunks = response.chunks()
        with anyio.fail_after(PATIENCE):
            assert await anext(chunks) == b"good"
            with pytest.raises(HttpError, match="not valid"):
                await anext(chunks)
