"""Clients and servers of the MCP SDK of either era, through the relay, while all goes well."""

from __future__ import annotations

import subprocess
from itertools import count
from pathlib import Path

import anyio
import pytest
from mcp import Client

from tests_integration.harness.sdk_client import (
    PAIRINGS,
    SECONDS,
    Pairing,
    cancel_a_call,
    client,
    text_of,
    told,
)
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stdio_client import RELAY
from tests_integration.manifest import requirement

in_each_pairing = pytest.mark.parametrize("pairing", PAIRINGS, ids=str)
_keys = (f"call-{number}" for number in count())


@pytest.fixture(scope="session")
def polling(sdk: Peer) -> Server:
    return sdk.start("polling")


@pytest.fixture(scope="session")
def sse(sdk: Peer) -> Server:
    return sdk.start("sse")


def replay(trace: Path) -> str:
    """What ``replay-trace`` has to say, once it has found no difference."""
    command = (*RELAY, "replay-trace", str(trace))
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@requirement("cancel.before-headers", "cancel.mid-stream")
@pytest.mark.smoke
@in_each_pairing
@pytest.mark.parametrize("loud", [False, True], ids=["silent", "answering"])
async def test_a_cancelled_call_is_cancelled_at_the_server(
    reference: Server, pairing: Pairing, loud: bool
) -> None:
    key = next(_keys)
    with anyio.fail_after(SECONDS):
        async with client(reference, pairing) as connected:
            await cancel_a_call(connected, reference, key, loud=loud)
            await told(reference, f"cancelled {key}$")
            assert text_of(await connected.call_tool("add", {"a": 2, "b": 3})) == "5"


@requirement(
    "ask.crossed", "ask.legacy", "ask.modern-client", "mrtr.full-loop", "mrtr.pass-through"
)
@in_each_pairing
async def test_calls_at_a_time_each_get_the_answers_to_their_own_questions(
    reference: Server, pairing: Pairing
) -> None:
    greeted: list[str] = []

    async def greet(connected: Client, greeting: str) -> None:
        greeted.append(text_of(await connected.call_tool("greet", {"greeting": greeting})))

    with anyio.fail_after(SECONDS):
        async with client(reference, pairing) as connected:
            async with anyio.create_task_group() as calls:
                for number in range(8):
                    calls.start_soon(greet, connected, f"hello {number}")
            everything = await connected.call_tool("interview", {})
    assert sorted(greeted) == [f"hello {number} Ann" for number in range(8)]
    assert text_of(everything) == "Ann 30 word file:///truck"


@requirement("stream.resumed-call")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_response_that_the_server_has_the_client_poll_for_arrives(
    polling: Server, mode: str
) -> None:
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    with anyio.fail_after(SECONDS):
        async with client(polling, Pairing(mode, "legacy")) as connected:
            result = await connected.call_tool("poll", {"steps": 4}, progress_callback=on_progress)
    assert text_of(result) == "polled 4"
    assert seen == [1, 2, 3, 4]


@requirement("transport.http-sse")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_a_server_of_http_with_sse_serves_clients_of_both_eras(
    sse: Server, mode: str
) -> None:
    key, seen = next(_keys), list[float]()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    with anyio.fail_after(SECONDS):
        async with client(sse, Pairing(mode, "auto")) as connected:
            await connected.call_tool("count", {"steps": 3}, progress_callback=on_progress)
            assert text_of(await connected.call_tool("interview", {})).startswith("Ann 30")
            await cancel_a_call(connected, sse, key, loud=True)
            await told(sse, f"cancelled {key}$")
    assert seen == [1, 2, 3]


@requirement("trace.replay")
@in_each_pairing
async def test_a_trace_of_each_pairing_replays_without_a_difference(
    reference: Server, pairing: Pairing, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    with anyio.fail_after(SECONDS):
        async with client(reference, pairing, "--trace", str(trace)) as connected:
            await connected.list_tools()
            await connected.call_tool("interview", {})
            await cancel_a_call(connected, reference, next(_keys), loud=True)
            await connected.read_resource("note://one")
    assert "as recorded" in replay(trace)
