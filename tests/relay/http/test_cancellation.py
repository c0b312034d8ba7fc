"""Leaving an exchange closes its connection at once: to a 2026-07-28 server that is the message."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.interface import HttpClient, HttpRequest, Timeouts
from tests.relay.http.conftest import Implementation, Open
from tests.relay.http.exchanges import GET, POST, fetch
from tests.relay.http.server import PATIENCE, Peer, serve

AT_ONCE = 2.0  # seconds; less than any connection is kept at rest


class Moments:
    """What the server has seen."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.closed = asyncio.Event()

    async def wait_begun(self) -> None:
        with anyio.fail_after(PATIENCE):
            await self.begun.wait()

    async def wait_closed(self) -> None:
        with anyio.fail_after(AT_ONCE):
            await self.closed.wait()


@pytest.fixture
def moments() -> Moments:
    return Moments()


async def start(client: HttpClient, request: HttpRequest = POST) -> asyncio.Task[object]:
    return asyncio.get_running_loop().create_task(fetch(client, request))


async def test_cancelling_before_the_head_closes_the_connection(
    opened: Open, moments: Moments
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        moments.begun.set()
        await peer.closed()
        moments.closed.set()

    async with serve(handler) as server, opened(server.url) as client:
        task = await start(client)
        await moments.wait_begun()
        task.cancel()
        await moments.wait_closed()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_cancelling_within_the_body_closes_the_connection(
    opened: Open, moments: Moments
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.begin_stream()
        await peer.send_chunk(b": ping\n\n")
        await peer.closed()
        moments.closed.set()

    async def call() -> None:
        async with client.exchange(POST) as response:
            async for _ in response.chunks():
                moments.begun.set()

    async with serve(handler) as server, opened(server.url) as client:
        task = asyncio.get_running_loop().create_task(call())
        await moments.wait_begun()
        task.cancel()
        await moments.wait_closed()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_leaving_before_the_end_of_the_body_closes_the_connection(
    opened: Open, moments: Moments
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.begin_stream()
        await peer.closed()
        moments.closed.set()

    async with serve(handler) as server, opened(server.url) as client:
        with anyio.fail_after(PATIENCE):
            async with client.exchange(POST):
                pass
        await moments.wait_closed()


async def test_an_error_within_the_exchange_closes_the_connection(
    opened: Open, moments: Moments
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.begin_stream()
        await peer.closed()
        moments.closed.set()

    async with serve(handler) as server, opened(server.url) as client:
        with pytest.raises(ZeroDivisionError):
            async with client.exchange(POST):
                raise ZeroDivisionError
        await moments.wait_closed()


async def test_cancelling_while_the_request_is_written_closes_the_connection(
    opened: Open, moments: Moments
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.head()
        moments.begun.set()
        await moments.closed.wait()
        await peer.closed()

    async with serve(handler) as server, opened(server.url) as client:
        task = await start(client, HttpRequest("POST", (), bytes(64 << 20)))
        await moments.wait_begun()
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        moments.closed.set()


async def test_cancelling_one_exchange_leaves_the_others_alone(
    opened: Open, moments: Moments
) -> None:
    go_on = asyncio.Event()

    async def handler(peer: Peer) -> None:
        request = await peer.request()
        if request.body == b"cancelled":
            moments.begun.set()
            await peer.closed()
            moments.closed.set()
        else:
            await go_on.wait()
            await peer.answer(b"fine")

    async with serve(handler) as server, opened(server.url) as client:
        other = await start(client, GET)
        cancelled = await start(client, HttpRequest("POST", (), b"cancelled"))
        await moments.wait_begun()
        cancelled.cancel()
        await moments.wait_closed()
        go_on.set()
        answer = await other
    assert getattr(answer, "body", None) == b"fine"


async def test_cancelling_while_connecting_stops_it(opened: Open) -> None:
    """The server takes the connection and never shakes hands."""
    begun = asyncio.Event()
    closed = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.reader.read(1)
        begun.set()
        await peer.closed()
        closed.set()

    async with serve(handler) as server:
        url = server.url.replace("http:", "https:")
        async with opened(url, timeouts=Timeouts(connect=None)) as client:
            task = await start(client)
            with anyio.fail_after(PATIENCE):
                await begun.wait()
                task.cancel()
                await closed.wait()
            with pytest.raises(asyncio.CancelledError):
                await task


async def test_closing_the_client_ends_open_exchanges(
    implementation: Implementation, moments: Moments
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        moments.begun.set()
        await peer.closed()
        moments.closed.set()

    async with serve(handler) as server:
        client = implementation(server.url)
        task = await start(client)
        await moments.wait_begun()
        await client.aclose()
        await moments.wait_closed()
        with pytest.raises(HttpError) as caught:
            await task
    assert caught.value.failure is Failure.CLOSED
    assert caught.value.may_have_executed


async def test_closing_the_client_ends_what_is_connecting(implementation: Implementation) -> None:
    async def handler(peer: Peer) -> None:
        await peer.reader.read(1)
        begun.set()
        await peer.closed()
        closed.set()

    begun, closed = asyncio.Event(), asyncio.Event()
    async with serve(handler) as server:
        client = implementation(server.url.replace("http:", "https:"))
        task = await start(client)
        with anyio.fail_after(PATIENCE):
            await begun.wait()
            await client.aclose()
            await closed.wait()
            with pytest.raises(HttpError) as caught:
                await task
    assert caught.value.failure is Failure.CLOSED
    assert not caught.value.may_have_executed


async def test_a_closed_client_starts_nothing(implementation: Implementation) -> None:
    async def handler(peer: Peer) -> None:
        raise AssertionError("a connection")

    async with serve(handler) as server:
        client = implementation(server.url)
        await client.aclose()
        with pytest.raises(HttpError) as caught:
            await fetch(client)
    assert not caught.value.may_have_executed
