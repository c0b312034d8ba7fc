"""How the process ends, and what it must not end for: each end is bounded and leaves nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import anyio
import pytest

from relay.core.session import FAREWELL_SECONDS
from tests.relay.peer import MODERN, PATIENCE, McpServer, environment, relay
from tests.relay.peer.client import ROOT

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a word")

LAUNCHER = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
SLACK = 4.0  # seconds that a busy machine may add to a bound


class Pipes:
    """Three pipes for a process that is not a child of this one, and our ends of them."""

    def __init__(self) -> None:
        self.stdin, self.to = os.pipe()
        self._of, self.stdout = os.pipe()
        self._log, self.stderr = os.pipe()
        self._transports: list[asyncio.BaseTransport] = []

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamReader]:
        """Give up the process's ends; return its stdout and its stderr."""
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.close(descriptor)
        return await self._reader(self._of), await self._reader(self._log)

    async def _reader(self, descriptor: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
        )
        self._transports.append(transport)
        return reader

    def close(self) -> None:
        os.close(self.to)
        for transport in self._transports:
            transport.close()


@pytest.fixture
async def pipes() -> AsyncIterator[Pipes]:
    made = Pipes()
    yield made
    made.close()


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds + SLACK


async def start(url: str, pipes: Pipes) -> asyncio.subprocess.Process:
    """Run the relay through another process, whose standard streams it inherits."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LAUNCHER, "-m", "relay", url),
        stdin=pipes.stdin,
        stdout=pipes.stdout,
        stderr=pipes.stderr,
        cwd=ROOT,
        env=environment(),
    )


async def ping(pipes: Pipes, stdout: asyncio.StreamReader) -> None:
    os.write(pipes.to, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with anyio.fail_after(PATIENCE):
        assert b'"result"' in await stdout.readline()


@posix
async def test_a_client_that_is_killed_leaves_no_relay_although_its_pipe_stays_open(
    modern: McpServer, pipes: Pipes
) -> None:
    client = await start(modern.url, pipes)
    stdout, stderr = await pipes.connect()
    await ping(pipes, stdout)
    client.kill()
    await client.wait()
    with anyio.fail_after(PATIENCE):
        assert await stdout.read() == b""  # its end: the relay has ended
        assert b"the client's process is gone" in await stderr.read()


@posix
async def test_a_launcher_that_ends_before_the_first_line_is_not_the_client(
    modern: McpServer, pipes: Pipes
) -> None:
    launcher = await start(modern.url, pipes)
    stdout, stderr = await pipes.connect()
    with anyio.fail_after(PATIENCE):
        assert b"protocol era" in await stderr.readline()  # the relay is up
    launcher.kill()
    await launcher.wait()
    await ping(pipes, stdout)
    with anyio.move_on_after(2.5):  # longer than from one look at the parent to the next
        assert await stdout.read() == b"nothing", "the relay ended"
    await ping(pipes, stdout)


@pytest.mark.obligation(43)
async def test_calls_in_flight_are_answered_after_stdin_ends(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        calls = [client.call("slow") for _ in range(3)]
        await server.saw("tools/call", times=3)
        client.close_stdin()
        server.release()
        assert sorted(str(message["id"]) for message in await client.rest()) == [*map(str, calls)]
        assert await client.exit_code() == 0


@pytest.mark.obligation(43)
async def test_a_server_that_never_answers_does_not_hold_the_end(server: McpServer) -> None:
    drain = 0.5
    async with relay(server.url, "--drain-timeout", str(drain)) as client:
        await client.initialize()
        client.call("slow")
        await server.saw("tools/call")
        client.close_stdin()
        with bounded(drain + FAREWELL_SECONDS):
            assert await client.exit_code() == 0
        if server.era == MODERN:
            await server.hung_up("tools/call")
        else:
            await server.saw("notifications/cancelled")
            await server.saw("DELETE")


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_answers_what_is_open_and_ends(
    server: McpServer, number: signal.Signals
) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        calls = {client.call("slow") for _ in range(3)}
        await server.saw("tools/call", times=3)
        client.process.send_signal(number)
        answers = await client.rest()
        assert {answer["id"] for answer in answers} == calls and len(answers) == 3
        assert all(number.name in str(answer["error"]) for answer in answers)
        assert await client.exit_code() == 0
        assert "Traceback" not in await client.stderr()


@posix
async def test_a_signal_while_the_end_is_waited_for_ends_it_at_once(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        slow = client.call("slow")
        await server.saw("tools/call")
        client.close_stdin()
        client.process.send_signal(signal.SIGTERM)
        assert [answer["id"] for answer in await client.rest()] == [slow]
        assert await client.exit_code() == 0


async def test_a_closed_stdout_ends_the_relay(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        client.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        client.call("echo", text="nobody reads this")
        assert await client.exit_code() == 0
        assert "Traceback" not in await client.stderr()


async def test_thousands_of_failures_are_answered_though_nobody_reads_stderr(
    server: McpServer,
) -> None:
    async with relay(server.url, "--log-level", "debug") as client:
        await client.initialize()
        for _ in range(10):
            answers = await client.answers([client.start("no/such/method") for _ in range(100)])
            assert all("error" in answer for answer in answers.values())
        client.close_stdin()
        assert await client.exit_code() == 0
