"""What the process keeps in memory: bounded by messages, never by how much passes through."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.relay.peer import MODERN, PATIENCE, McpServer, Relay, relay

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc"
)

MEGABYTE = 1_000_000


class LateReader:
    """A stdout that is read by a thread, and only once :meth:`begin` was called."""

    def __init__(self) -> None:
        self._of, self.stdout = os.pipe()
        self._begin = threading.Event()
        self._news = threading.Condition()
        self.messages: list[dict[str, object]] = []
        self.size = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def begin(self) -> None:
        self._begin.set()

    def started(self) -> None:
        """The process has its own copy of the descriptor: the pipe is to end with it."""
        os.close(self.stdout)

    async def saw_answer(self, request_id: int) -> None:
        """Wait for the answer to a request."""

        def answered() -> bool:
            with self._news:
                return self._news.wait_for(
                    lambda: any(each.get("id") == request_id for each in self.messages),
                    3 * PATIENCE,
                )

        assert await asyncio.to_thread(answered)

    async def end(self) -> None:
        """Wait for the end of stdout."""
        with anyio.fail_after(3 * PATIENCE):
            await asyncio.to_thread(self._thread.join)

    def _read(self) -> None:
        self._begin.wait()
        with os.fdopen(self._of, "rb") as lines:
            for line in lines:
                self.size += len(line)
                message = json.loads(line)
                if isinstance(params := message.get("params"), dict):
                    params.pop("message", None)  # the padding
                with self._news:
                    self.messages.append(message)
                    self._news.notify_all()


@asynccontextmanager
async def late_relay(url: str) -> AsyncIterator[tuple[Relay, LateReader]]:
    reader = LateReader()
    try:
        async with relay(url, stdout=reader.stdout) as client:
            reader.started()
            yield client, reader
    finally:
        reader.begin()
        await reader.end()


def initialize(client: Relay) -> None:
    client.start("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    client.send(method="notifications/initialized")


async def test_a_client_that_reads_nothing_costs_no_memory_and_stops_nothing_else(
    server: McpServer,
) -> None:
    """200 MB want to get through a stdout that is full."""
    steps, size = 2000, 100_000
    async with late_relay(server.url) as (client, reader):
        initialize(client)
        client.call("echo", text="the relay is warm")
        await server.saw("tools/call")
        before = client.resident()
        flooding = client.call("flood", meta={"progressToken": "f"}, steps=steps, size=size)
        with anyio.fail_after(PATIENCE):
            await server.stalled.wait()

        slow = client.call("slow")
        await server.saw("tools/call", times=3)
        client.cancel(slow)
        if server.era == MODERN:
            await server.hung_up("tools/call")
        else:
            await server.saw("notifications/cancelled")
            client.send(id="from the server", result={})
            await server.saw_answer("from the server")
        assert client.peak() - before < 10 * MEGABYTE

        reader.begin()
        await reader.saw_answer(flooding)
        assert client.peak() - before < 10 * MEGABYTE
        client.close_stdin()
        assert await client.exit_code() == 0
    assert reader.size > steps * size
    notes = [message["params"] for message in reader.messages if "method" in message]
    assert notes == [{"progressToken": "f", "progress": step} for step in range(1, steps + 1)]
    ids = [message["id"] for message in reader.messages if "id" in message]
    assert slow not in ids and len(ids) == len(set(ids)) == 3


async def test_memory_is_flat_over_fifteen_hundred_calls(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()

        async def work(calls: int) -> None:
            for _ in range(calls // 50):
                await client.answers([client.call("echo", text="x" * 500) for _ in range(50)])

        await work(300)
        before = client.resident()
        await work(1500)
        assert client.resident() - before < 2 * MEGABYTE


async def test_a_big_result_costs_at_most_three_times_its_size(server: McpServer) -> None:
    size = 10 * MEGABYTE
    async with relay(server.url) as client:
        await client.initialize()
        await client.answer(client.call("echo", text="the relay is warm"))
        before = client.resident()
        await client.answer(client.call("big", size=size))
        assert client.peak() - before <= 3 * size


async def test_a_big_request_costs_at_most_four_times_its_size(server: McpServer) -> None:
    size = 10 * MEGABYTE
    async with relay(server.url) as client:
        await client.initialize()
        await client.answer(client.call("echo", text="the relay is warm"))
        before = client.resident()
        await client.answer(client.call("length", text="x" * size))
        assert client.peak() - before <= 4 * size


async def test_of_ten_thousand_progress_events_none_is_lost_and_none_out_of_order(
    server: McpServer,
) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        await client.answer(client.call("count", meta={"progressToken": "c"}, steps=10_000))
    notes = [note["params"] for note in client.messages if "method" in note]
    assert notes == [{"progressToken": "c", "progress": step} for step in range(1, 10_001)]
