"""Servers of the MCP SDK that crash, restart, change and forget, with its clients watching."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from urllib.parse import urlsplit

import anyio
import pytest
from anyio import to_thread
from mcp import Client, MCPError

from tests_integration.changing_server import URI
from tests_integration.processes import PYTHON, Process, References, Server
from tests_integration.sdk_client import PAIRINGS, SECONDS, Heard, Pairing, client, text_of, told

in_each_pairing = pytest.mark.parametrize("pairing", PAIRINGS, ids=str)
with_each_client = pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
_keys = (f"trouble-{number}" for number in count())


@contextmanager
def doomed(sdk: References, kind: str = "dual") -> Iterator[Server]:
    """A server for one test."""
    server = sdk.start(kind)
    try:
        yield server
    finally:
        sdk.kill(server)


async def restart(sdk: References, server: Server, kind: str = "dual") -> None:
    await to_thread.run_sync(sdk.restart, server, kind)


async def add(connected: Client) -> str:
    return text_of(await connected.call_tool("add", {"a": 2, "b": 3}))


@in_each_pairing
async def test_a_server_that_crashes_in_a_call_is_used_again_once_it_is_back(
    sdk: References, pairing: Pairing
) -> None:
    failures: list[MCPError] = []

    async def hold(connected: Client, key: str) -> None:
        with pytest.raises(MCPError) as failure:
            await connected.call_tool("hold", {"key": key, "loud": True})
        failures.append(failure.value)

    key = next(_keys)
    with doomed(sdk) as server, anyio.fail_after(SECONDS):
        async with client(server, pairing) as connected:
            async with anyio.create_task_group() as calls:
                calls.start_soon(hold, connected, key)
                await told(server, f"started {key}$")
                await restart(sdk, server)
            assert await add(connected) == "5"
    [failure] = failures
    assert failure.error.data["mayHaveExecuted"]


@in_each_pairing
async def test_a_server_that_restarts_while_the_user_thinks_is_used_again(
    sdk: References, pairing: Pairing
) -> None:
    back = anyio.Event()
    with doomed(sdk) as server, anyio.fail_after(SECONDS):

        async def think() -> None:
            if not back.is_set():
                await restart(sdk, server)
                back.set()

        async with client(server, pairing, before_answering=think) as connected:
            with ExitStack() as fate:
                if pairing.era == "legacy":  # the question was open at the server that is gone
                    fate.enter_context(pytest.raises(MCPError, match="may have executed"))
                greeted = await connected.call_tool("greet", {"greeting": "good morning"})
                assert text_of(greeted) == "good morning Ann"
            await back.wait()
            greeted = await connected.call_tool("greet", {"greeting": "good evening"})
    assert text_of(greeted) == "good evening Ann"


@with_each_client
async def test_a_server_that_comes_back_with_another_era_is_used_as_before(
    sdk: References, mode: str
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

as_older_revisions_do = pytest.mark.filterwarnings(
    "ignore:resources/subscribe is removed:mcp.shared.exceptions.MCPDeprecationWarning"
)


async def touch(connected: Client) -> str:
    return text_of(await connected.call_tool("touch", {}))


def delete_session(url: str, session: str) -> int:
    """End a session behind the relay's back; the status of the answer."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=SECONDS)
    headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    connection.request("DELETE", address.path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


@as_older_revisions_do
async def test_updates_go_on_when_the_session_is_deleted_behind_the_relay(
    sdk: References,
) -> None:
    heard = Heard()
    with doomed(sdk, "changing") as server, anyio.fail_after(SECONDS):
        async with client(server, Pairing("legacy", "legacy"), heard=heard) as connected:
            await connected.subscribe_resource(URI)
            session = await touch(connected)
            await heard.update()
            assert await to_thread.run_sync(delete_session, server.url, session) == 200
            assert await touch(connected) not in (session, "")
            await heard.update()  # that it may have changed meanwhile
            await touch(connected)
            await heard.update()


@as_older_revisions_do
async def test_updates_begin_anew_for_a_client_that_subscribes_after_the_server_has_hung_up(
    sdk: References,
) -> None:
    heard = Heard()
    with doomed(sdk, "changing") as server, anyio.fail_after(SECONDS):
        async with client(server, Pairing("legacy", "modern"), heard=heard) as connected:
            await connected.subscribe_resource(URI)
            await touch(connected)
            await heard.update()
            await connected.call_tool("hang_up", {})
            await connected.subscribe_resource(URI)
            await heard.update()  # that it may have changed meanwhile
            await touch(connected)
            await heard.update()


async def test_a_listening_client_is_told_that_the_server_has_hung_up(sdk: References) -> None:
    with doomed(sdk, "changing") as server, anyio.fail_after(SECONDS):
        async with (
            client(server, Pairing("2026-07-28", "modern")) as connected,
            connected.listen(resource_subscriptions=[URI]) as listening,
        ):
            await touch(connected)
            await connected.call_tool("hang_up", {})
            assert [type(event).__name__ async for event in listening] == ["ResourceUpdated"]


# -- the end --

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("end", ["EOF", "SIGTERM"])
def test_a_call_is_cancelled_at_the_server_when_the_relay_ends(
    reference: Server, era: str, end: str
) -> None:
    options = ("--protocol-era", era, "--drain-timeout", "0")
    relay, key = Process(PYTHON, "-m", "relay", reference.url, *options), next(_keys)
    try:
        arguments = {"key": key, "loud": False}
        params = {"name": "hold", "arguments": arguments, "_meta": ENVELOPE}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        relay.send(json.dumps(message))
        reference.process.wait_for_line(f"started {key}$")
        if end == "EOF":
            relay.close_stdin()
        else:
            relay.terminate()
            answer = json.loads(relay.wait_for_line("^.*$")[0])
            assert answer["error"]["data"]["mayHaveExecuted"]
        reference.process.wait_for_line(f"cancelled {key}$")
        assert relay.wait() == 0
    finally:
        relay.stop()
