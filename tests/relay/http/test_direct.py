"""What the direct client does beyond the contract: its connections, and its choice of words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from relay.core.events import Failure
from relay.http.direct import DirectHttpClient
from relay.http.interface import HttpRequest
from relay.http.pool import MAX_IDLE
from tests.relay.http.exchanges import failure_of, fetch
from tests.relay.http.server import PATIENCE, Peer, serve


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


async def test_bodies_that_come_at_the_same_time_are_kept_apart() -> None:
    count, size = 8, 1 << 20

    async def handler(peer: Peer) -> None:
        own = (await peer.request()).body
        await peer.begin_stream()
        for _ in range(size // len(own)):
            await peer.send_chunk(own)
        await peer.send_chunk(b"")

    bodies = [bytes([number]) * (1 << 14) for number in range(count)]
    async with serve(handler) as server, client_of(server.url) as client:
        with anyio.fail_after(PATIENCE):
            answers = await asyncio.gather(
                *(fetch(client, HttpRequest("POST", (), body)) for body in bodies)
            )
    assert [set(answer.body) for answer in answers] == [{number} for number in range(count)]
    assert {len(answer.body) for answer in answers} == {size}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.9\r\n", "does not answer with HTTP/1.1"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "is it an https:// URL"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "'gzip, chunked'"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "switched protocols"),
        (b"HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: y\r\n\r\nz", "switched protocols"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 400_000, "bytes of headers"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, "bytes of headers"),
    ],
    ids=lambda value: value[:40] if isinstance(value, bytes) else None,
)
async def test_what_is_not_http_is_told_apart(sent: bytes, said: str) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(sent)
        await peer.closed()

    async with serve(handler) as server, client_of(server.url) as client:
        error = await failure_of(client)
    assert error.failure is Failure.PROTOCOL
    assert said in error.detail
    assert error.may_have_executed


async def test_a_refusal_is_heard_while_the_request_is_still_written() -> None:
    async def handler(peer: Peer) -> None:
        await peer.head()
        await peer.answer(b"too large", status=413)
        await heard.wait()

    heard = asyncio.Event()
    async with serve(handler) as server, client_of(server.url) as client:
        for _ in range(2):  # half a request was written: the connection is of no further use
            answer = await fetch(client, HttpRequest("POST", (), bytes(64 << 20)))
            assert (answer.status, answer.body) == (413, b"too large")
        heard.set()
    assert len(server.peers) == 2


async def test_an_answer_is_whole_whatever_became_of_its_connection_meanwhile() -> None:
    """The server refuses, stops sending, and takes the rest of the request after that."""

    async def handler(peer: Peer) -> None:
        await peer.head()
        await peer.answer(b"too large", status=413)
        peer.writer.write_eof()
        await peer.closed()
        taken.set()

    taken = asyncio.Event()
    async with serve(handler) as server, client_of(server.url) as client:
        with anyio.fail_after(PATIENCE):
            async with client.exchange(HttpRequest("POST", (), bytes(4 << 20))) as response:
                await taken.wait()
                assert [chunk async for chunk in response.chunks()] == [b"too large"]
