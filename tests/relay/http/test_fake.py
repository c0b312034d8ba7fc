"""The fake behaves as the contract says, where tests rely on it."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.fake import FakeHttpClient, FakeResponse
from relay.http.interface import HttpClient
from tests.relay.http.exchanges import GET, POST, failure_of, fetch
from tests.relay.http.server import PATIENCE


async def test_responses_follow_the_script() -> None:
    client = FakeHttpClient([FakeResponse([b"one ", b"two"]), FakeResponse(status=202)])
    assert (await fetch(client, POST)).body == b"one two"
    assert (await fetch(client, GET)).status == 202
    assert client.requests == [POST, GET]
    assert all(exchange.complete and not exchange.aborted for exchange in client.exchanges)


async def test_a_gate_holds_the_response_open() -> None:
    gate = asyncio.Event()
    client = FakeHttpClient([FakeResponse([b"one", gate, b"two"], before_head=[gate])])
    task = asyncio.get_running_loop().create_task(fetch(client))
    with anyio.fail_after(PATIENCE):
        exchange = await client.started(0)
        assert not exchange.ended.is_set()
        gate.set()
        assert (await task).body == b"onetwo"


async def test_cancelling_is_seen_as_an_abort() -> None:
    client = FakeHttpClient([FakeResponse(before_head=[asyncio.Event()])])
    task = asyncio.get_running_loop().create_task(fetch(client))
    with anyio.fail_after(PATIENCE):
        exchange = await client.started(0)
        task.cancel()
        await exchange.ended.wait()
    assert exchange.aborted
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_leaving_early_is_seen_as_an_abort() -> None:
    client = FakeHttpClient([FakeResponse([b"one", b"two"])])
    async with client.exchange(GET) as response:
        async for _ in response.chunks():
            break
    assert client.exchanges[0].aborted


async def test_an_error_is_raised_where_it_stands() -> None:
    error = HttpError(Failure.IDLE_TIMEOUT, "silence", may_have_executed=True)
    client = FakeHttpClient([FakeResponse([b"one", error]), FakeResponse(before_head=[error])])
    assert await failure_of(client) is error
    assert await failure_of(client) is error


async def test_closing_ends_what_is_open() -> None:
    client: HttpClient = FakeHttpClient([FakeResponse(before_head=[asyncio.Event()])])
    assert isinstance(client, FakeHttpClient)
    task = asyncio.get_running_loop().create_task(failure_of(client))
    with anyio.fail_after(PATIENCE):
        await client.started(0)
        await client.aclose()
        assert (await task).failure is Failure.CLOSED


async def test_a_request_beyond_the_script_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="not in the script"):
        await fetch(FakeHttpClient([]))
