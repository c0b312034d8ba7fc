"""Servers of the MCP SDK that change or end, with its clients watching."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import anyio
import pytest
from anyio import to_thread
from mcp import Client

from tests_integration.harness.sdk_client import (
    SECONDS,
    Pairing,
    client,
    text_of,
)
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.manifest import requirement
from tests_integration.peers.mcp_2_changing import URI

with_each_client = pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
_keys = (f"trouble-{number}" for number in count())


@contextmanager
def doomed(sdk: Peer, kind: str = "dual") -> Iterator[Server]:
    """A server for one test."""
    server = sdk.start(kind)
    try:
        yield server
    finally:
        sdk.kill(server)


async def restart(sdk: Peer, server: Server, kind: str = "dual") -> None:
    await to_thread.run_sync(sdk.restart, server, kind)


async def add(connected: Client) -> str:
    return text_of(await connected.call_tool("add", {"a": 2, "b": 3}))


@requirement("era.change")
@with_each_client
async def test_a_server_that_comes_back_with_another_era_is_used_as_before(
    sdk: Peer, mode: str
) -> None:
    with doomed(sdk) as server, anyio.fail_after(SECONDS):
        async with client(server, Pairing(mode, "auto")) as connected:
            assert await add(connected) == "5"
            for kind in ("legacy", "dual", "legacy"):
                await restart(sdk, server, kind)
                assert await add(connected) == "5"
                greeted = await connected.call_tool("greet", {"greeting": kind})
                assert text_of(greeted) == f"{kind} Ann"


# -- subscriptions --


@requirement("listen.graceful-end")
async def test_a_listening_client_is_told_that_the_server_has_hung_up(sdk: Peer) -> None:
    with doomed(sdk, "changing") as server, anyio.fail_after(SECONDS):
        async with (
            client(server, Pairing("2026-07-28", "modern")) as connected,
            connected.listen(resource_subscriptions=[URI]) as listening,
        ):
            await connected.call_tool("touch", {})
            await connected.call_tool("hang_up", {})
            assert [type(event).__name__ async for event in listening] == ["ResourceUpdated"]


# -- the end --


@requirement("end.cancels")
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("end", ["EOF", "SIGTERM"])
def test_a_call_is_cancelled_at_the_server_when_the_relay_ends(
    reference: Server, stage: Stage, era: str, end: str
) -> None:
    key = next(_keys)
    relay = stage.modern(reference, "--protocol-era", era, "--drain-timeout", "0")
    call = relay.start_call("hold", key=key, loud=False)
    reference.says(f"started {key}$", stage.deadline)
    if end == "EOF":
        relay.process.close_stdin()
    else:
        relay.process.terminate()
        assert relay.error(call)["data"]["mayHaveExecuted"]
    reference.says(f"cancelled {key}$", stage.deadline)
    assert relay.process.wait(stage.deadline.left()) == 0
