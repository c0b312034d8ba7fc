"""What every implementation of ``HttpClient`` does when all goes well."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import anyio
import pytest

from relay.core.events import Failure
from relay.http.interface import HttpRequest
from tests.relay.http.conftest import Open
from tests.relay.http.exchanges import GET, POST, failure_of, fetch
from tests.relay.http.kernel import KERNEL_CONNECTIONS, keepalive_of_connection_to
from tests.relay.http.server import PATIENCE, Peer, Received, serve


async def test_the_request_arrives_as_it_was_made(opened: Open) -> None:
    received: list[Received] = []

    async def handler(peer: Peer) -> None:
        received.append(await peer.request())
        await peer.answer(b"ok")

    async with serve(handler) as server, opened(f"{server.url}?rig=7&x=%20") as client:
        request = HttpRequest("POST", (("MCP-Protocol-Version", "2026-07-28"),), b"\x00\xff body")
        await fetch(client, request)

    [request_seen] = received
    assert request_seen.method == "POST"
    assert request_seen.path == "/mcp?rig=7&x=%20"
    assert request_seen.body == b"\x00\xff body"
    assert request_seen.headers["host"] == f"127.0.0.1:{server.port}"
    assert request_seen.headers["mcp-protocol-version"] == "2026-07-28"
    assert request_seen.headers["accept-encoding"] == "gzip"


async def test_a_request_may_go_to_another_path_of_the_same_server(opened: Open) -> None:
    paths = []

    async def handler(peer: Peer) -> None:
        while True:
            paths.append((await peer.request()).path)
            await peer.answer()

    async with serve(handler) as server, opened(server.url) as client:
        for target in ("/messages/?session_id=7", f"{server.url}/x", ""):
            await fetch(client, HttpRequest("POST", target=target))
    assert paths == ["/messages/?session_id=7", "/mcp/x", "/mcp"]


async def test_a_request_never_goes_to_another_server(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        raise AssertionError("a connection")

    async with serve(handler) as server, opened(server.url) as client:
        elsewhere = f"http://localhost:{server.port}/mcp"
        error = await failure_of(client, HttpRequest("POST", target=elsewhere))
    assert error.failure is Failure.PROTOCOL
    assert not error.may_have_executed


async def test_a_request_without_a_body_says_so_only_where_one_is_expected(opened: Open) -> None:
    lengths: dict[str, str | None] = {}

    async def handler(peer: Peer) -> None:
        while True:
            request = await peer.request()
            lengths[request.method] = request.headers.get("content-length")
            await peer.answer()

    async with serve(handler) as server, opened(server.url) as client:
        for method in ("GET", "DELETE", "POST"):
            await fetch(client, HttpRequest(method))
    assert lengths == {"GET": None, "DELETE": None, "POST": "0"}


async def test_header_names_are_lower_case_and_repeated_ones_joined(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"", "X-One: a ", "WWW-Authenticate: Basic", "www-authenticate: Bearer x")

    async with serve(handler) as server, opened(server.url) as client:
        answer = await fetch(client)
    assert answer.headers["x-one"] == "a"
    assert answer.headers["www-authenticate"] == "Basic, Bearer x"


@pytest.mark.parametrize("status", [200, 202, 302, 400, 404, 429, 500, 503])
async def test_any_status_is_a_response(opened: Open, status: int) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"why", status=status)

    async with serve(handler) as server, opened(server.url) as client:
        answer = await fetch(client)
    assert (answer.status, answer.body) == (status, b"why")


async def test_a_body_may_end_with_the_connection(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\n", b"one ", b"two")

    async with serve(handler) as server, opened(server.url) as client:
        assert (await fetch(client)).body == b"one two"


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none\ntwo\n\n",
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"4\r\none\n\r\n5;x=y\r\ntwo\n\n\r\n0\r\nX-Trailer: t\r\n\r\n"
        ),
        b"HTTP/1.1 200 OK\r\n\r\none\ntwo\n\n",
    ],
    ids=["length", "chunked", "close"],
)
async def test_a_response_that_comes_byte_by_byte_is_whole(opened: Open, response: bytes) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        for byte in response:
            await peer.send(bytes([byte]))
            for _ in range(3):  # the client runs on the same loop: let it read this byte alone
                await asyncio.sleep(0)

    async with serve(handler) as server, opened(server.url) as client:
        assert (await fetch(client)).body == b"one\ntwo\n\n"


async def test_interim_responses_are_skipped_and_trailers_ignored(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        await peer.begin_stream("X: y")
        await peer.send_chunk(b"body")
        await peer.send(b"0\r\nX-Trailer: t\r\n\r\n")

    async with serve(handler) as server, opened(server.url) as client:
        answer = await fetch(client)
    assert (answer.status, answer.body) == (200, b"body")
    assert answer.headers == {"transfer-encoding": "chunked", "x": "y"}


@pytest.mark.parametrize("head", ["204 No Content", "304 Not Modified\r\nContent-Length: 5"])
async def test_a_status_without_a_body_ends_at_its_head(opened: Open, head: str) -> None:
    async def handler(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(f"HTTP/1.1 {head}\r\n\r\n".encode())

    async with serve(handler) as server, opened(server.url) as client:
        assert (await fetch(client)).body == b""
        assert (await fetch(client)).body == b""
    assert len(server.peers) == 1


async def test_the_answer_to_head_has_no_body_whatever_its_headers_say(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")

    async with serve(handler) as server, opened(server.url) as client:
        for _ in range(2):
            answer = await fetch(client, HttpRequest("HEAD"))
            assert (answer.headers, answer.body) == ({"content-length": "5"}, b"")
    assert len(server.peers) == 1


@pytest.mark.parametrize("coding", ["identity", "gzip", "x-gzip", "deflate"])
async def test_an_event_comes_out_before_the_next_is_sent(opened: Open, coding: str) -> None:
    seen = asyncio.Event()
    events = [b"data: %d\n\n" % number for number in range(20)]

    async def handler(peer: Peer) -> None:
        await peer.request()
        wbits = zlib.MAX_WBITS if coding == "deflate" else zlib.MAX_WBITS | 16
        packer = zlib.compressobj(wbits=wbits)
        await peer.begin_stream(f"Content-Encoding: {coding}")
        for event in events:
            packed = packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)
            await peer.send_chunk(event if coding == "identity" else packed)
            with anyio.fail_after(PATIENCE):
                await seen.wait()
            seen.clear()
        if coding != "identity":
            await peer.send_chunk(packer.flush())
        await peer.send_chunk(b"")

    received = []
    async with serve(handler) as server, opened(server.url) as client:
        with anyio.fail_after(PATIENCE):
            async with client.exchange(POST) as response:
                async for chunk in response.chunks():
                    received.append(chunk)
                    seen.set()
    assert received == events


async def test_a_gzip_body_comes_out_decoded_in_small_pieces(opened: Open) -> None:
    body = b"\0" * 10_000_000  # a thousandfold

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(gzip.compress(body), "Content-Encoding: gzip")

    async with serve(handler) as server, opened(server.url) as client:
        with anyio.fail_after(PATIENCE):
            async with client.exchange(GET) as response:
                pieces = [len(piece) async for piece in response.chunks()]
    assert sum(pieces) == len(body)
    assert max(pieces) <= 1 << 16


async def test_a_large_request_arrives_whole(opened: Open) -> None:
    body = bytes(range(256)) * 40_000
    received = []

    async def handler(peer: Peer) -> None:
        while True:
            received.append((await peer.request()).body)
            await peer.answer(b"ok")

    async with serve(handler) as server, opened(server.url) as client:
        for _ in range(2):
            assert (await fetch(client, HttpRequest("POST", (), body))).body == b"ok"
    assert received == [body, body]
    assert len(server.peers) == 1


async def test_a_large_response_arrives_whole(opened: Open) -> None:
    body = bytes(range(256)) * 40_000

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer(body)

    async with serve(handler) as server, opened(server.url) as client:
        assert (await fetch(client)).body == body


async def test_no_exchange_waits_for_another(opened: Open) -> None:
    """64 at once, answered in the opposite order."""
    count = 64
    bodies: dict[bytes, asyncio.Event] = {
        b"%d" % number: asyncio.Event() for number in range(count)
    }
    arrived = asyncio.Event()

    async def handler(peer: Peer) -> None:
        request = await peer.request()
        if len(server.peers) == count:
            arrived.set()
        with anyio.fail_after(PATIENCE):
            await bodies[request.body].wait()
        await peer.answer(request.body)

    order = []
    async with serve(handler) as server, opened(server.url) as client:

        async def call(body: bytes) -> None:
            assert (await fetch(client, HttpRequest("POST", (), body))).body == body
            order.append(body)
            if following := bodies.get(b"%d" % (int(body) - 1)):
                following.set()

        async with asyncio.TaskGroup() as tasks:
            for body in bodies:
                tasks.create_task(call(body))
            with anyio.fail_after(PATIENCE):
                await arrived.wait()
            bodies[b"%d" % (count - 1)].set()
    assert order == list(reversed(bodies))


async def test_a_slow_reader_holds_the_server_back(opened: Open) -> None:
    size = 64 << 20

    async def handler(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        peer.writer.write(bytes(size))
        await peer.writer.drain()

    async with serve(handler) as server, opened(server.url) as client:
        with anyio.fail_after(4 * PATIENCE):
            async with client.exchange(GET) as response:
                chunks = response.chunks()
                received = len(await anext(chunks))
                transport = server.peers[0].writer.transport
                held, rounds = transport.get_write_buffer_size(), 0
                while rounds < 1000:  # the loop polls the sockets in each round
                    await asyncio.sleep(0)
                    now = transport.get_write_buffer_size()
                    held, rounds = now, rounds + 1 if now == held else 0
                async for chunk in chunks:
                    received += len(chunk)
    assert held > size // 4, "what the server could not write"
    assert received == size


@pytest.mark.skipif(not KERNEL_CONNECTIONS.exists(), reason="only Linux tells")
async def test_a_server_that_is_gone_will_be_noticed(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        await peer.closed()

    async with serve(handler) as server, opened(server.url) as client:
        await fetch(client)
        await keepalive_of_connection_to(server.port)
