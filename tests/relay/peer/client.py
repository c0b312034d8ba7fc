"""The relay as its users run it: a process with pipes, and a client that reads them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from tests.relay.peer.wire import LEGACY, MODERN, PATIENCE, Json, envelope

ROOT = Path(__file__).parents[3]


class Relay:
    """The process, seen from its client. Every wait is bounded."""

    def __init__(self, process: asyncio.subprocess.Process, era: str = LEGACY) -> None:
        """``era``: what the client speaks."""
        self.process = process
        self.era = era
        self.messages: list[Json] = []
        self._last_id = 0

    # -- what the client says --

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    async def written(self) -> None:
        """Return once the pipe has taken what was written, but for its last few kilobytes."""
        assert self.process.stdin is not None
        with anyio.fail_after(PATIENCE):
            await self.process.stdin.drain()

    def send(self, **message: object) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")

    def start(self, method: str, params: Json | None = None) -> int:
        """Send a request; return its id."""
        self._last_id += 1
        params = dict(params or {})
        if self.era == MODERN:
            meta = params.get("_meta")
            params["_meta"] = envelope(**(meta if isinstance(meta, dict) else {}))
        self.send(id=self._last_id, method=method, params=params)
        return self._last_id

    def call(self, name: str, meta: Json | None = None, **arguments: object) -> int:
        return self.start("tools/call", {"name": name, "arguments": arguments, "_meta": meta or {}})

    def cancel(self, request_id: int) -> None:
        self.send(method="notifications/cancelled", params={"requestId": request_id})

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    # -- what the client hears --

    async def line(self) -> bytes:
        """The next line of stdout; empty at its end."""
        assert self.process.stdout is not None
        with anyio.fail_after(PATIENCE):
            return await self.process.stdout.readline()

    async def message(self) -> Json:
        """The next message; fails at the end of stdout, so that no test passes on silence."""
        line = await self.line()
        assert line, "the relay closed stdout"
        assert line.endswith(b"\n"), "a message without its LF"
        message: Json = json.loads(line)
        assert isinstance(message, dict), f"not one JSON object: {line[:80]!r}"
        self.messages.append(message)
        return message

    async def answer(self, request_id: int) -> Json:
        """Read on until the answer to this request."""
        while (message := await self.message()).get("id") != request_id:
            pass
        return message

    async def answers(self, ids: Iterable[int]) -> dict[int, Json]:
        """Read on until all of these are answered; none may be answered twice."""
        open_ids, answers = set(ids), dict[int, Json]()
        while open_ids:
            message = await self.message()
            if "method" in message:
                continue
            number = message["id"]
            assert isinstance(number, int) and number in open_ids, f"not asked for: {message}"
            open_ids.discard(number)
            answers[number] = message
        return answers

    async def initialize(self, capabilities: Json | None = None) -> Json:
        params: Json = {
            "protocolVersion": LEGACY,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        answer = await self.answer(self.start("initialize", params))
        self.send(method="notifications/initialized")
        return answer

    async def open(self, capabilities: Json | None = None) -> None:
        """Do what a client of this era does first."""
        if self.era == MODERN:
            await self.answer(self.start("server/discover"))
        else:
            await self.initialize(capabilities)

    async def rest(self) -> list[Json]:
        """Read stdout to its end."""
        messages = []
        while line := await self.line():
            messages.append(json.loads(line))
        return messages

    async def exit_code(self, within: float = PATIENCE) -> int:
        with anyio.fail_after(within):
            return await self.process.wait()

    async def stderr(self) -> str:
        """All of stderr; only after the process has ended, or is about to."""
        assert self.process.stderr is not None
        with anyio.fail_after(PATIENCE):
            return (await self.process.stderr.read()).decode()

    # -- what the process costs --

    def resident(self) -> int:
        """Bytes of memory in use (Linux)."""
        return self._status("VmRSS")

    def peak(self) -> int:
        """The most bytes of memory ever in use (Linux)."""
        return self._status("VmHWM")

    def _status(self, field: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024


@asynccontextmanager
async def relay(
    *arguments: str,
    environ: Mapping[str, str] | None = None,
    program: Sequence[str] = ("-m", "relay"),
    stdout: int = asyncio.subprocess.PIPE,
    era: str = LEGACY,
) -> AsyncIterator[Relay]:
    """Run the relay with these arguments; it does not outlive the block.

    ``stdout``: a descriptor to write to instead of the pipe that :class:`Relay` reads.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
        limit=1 << 26,
        env={**environment(), **(environ or {})},
    )
    try:
        yield Relay(process, era)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def environment() -> dict[str, str]:
    """The environment without anything that would set an option of the relay."""
    ours = ("CANFERRY_RELAY_", "MCP_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
