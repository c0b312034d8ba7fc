"""The two programs of the demonstration as real processes, started and ended with bounds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

RIG = Path(__file__).with_name("rig.toml")
START_SECONDS = 20.0
STOP_SECONDS = 5.0


class ProgramError(Exception):
    """A program did not start, or a call failed that should not have."""


@asynccontextmanager
async def serving(workspace: Path) -> AsyncIterator[str]:
    """The service on a free port, its captures and its log in ``workspace``; yields its URL."""
    command = [sys.executable, "-m", "service", "serve", "--config", str(RIG), "--port", "0"]
    command += ["--captures", str(workspace / "captures")]
    command += ["--databases", str(workspace / "databases")]
    for folder in ("captures", "databases"):
        (workspace / folder).mkdir()
    with (workspace / "service.log").open("wb") as log:
        process = await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=log)
        try:
            yield await _announced_url(process)
        finally:
            await _end(process)


async def _announced_url(process: Process) -> str:
    assert process.stdout is not None
    try:
        with anyio.fail_after(START_SECONDS):
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000)
    except (TimeoutError, anyio.EndOfStream, anyio.IncompleteRead) as error:
        raise ProgramError("the service did not start") from error
    return line.decode().split()[-1]


async def _end(process: Process) -> None:
    """Ask, then insist; also when the demonstration itself is being cancelled."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        with anyio.move_on_after(STOP_SECONDS):
            await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
        await process.aclose()


@asynccontextmanager
async def relay_client(url: str, workspace: Path) -> AsyncIterator[Client]:
    """An ordinary MCP stdio client that starts the relay, as any desktop agent does."""
    relay = StdioServerParameters(command=sys.executable, args=["-m", "relay", url])
    with (workspace / "relay.log").open("w", encoding="utf-8") as log:
        async with Client(stdio_client(relay, errlog=log), mode="legacy") as client:
            yield client
