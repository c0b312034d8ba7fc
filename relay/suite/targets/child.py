"""A child process on three pipes: its lines, the end of its stderr, and how it ended."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast

from msgspec import Struct

from relay.core.events import ClientLine, ClientLineTooLong
from relay.stdio.lines import LineSplitter
from relay.suite.channel import NotOpened

STDIN, STDOUT, STDERR = 0, 1, 2

_STDERR_KEPT = 64 << 10
_WINDOWS = sys.platform == "win32"


class Command(Struct, frozen=True):
    """How to start a server: no shell has a part in it."""

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path | None = None
    longest_line: int = 256 << 20


class Patience(Struct, frozen=True):
    """How many seconds each step of an end may take."""

    eof: float = 5.0
    terminate: float = 3.0
    kill: float = 3.0
    pipes: float = 1.0  # what a process has written is read, once it has ended


class Child(asyncio.SubprocessProtocol):
    """A child process, and all that it starts: they are ended together."""

    def __init__(
        self, longest_line: int, on_line: Callable[[bytes], None], on_over: Callable[[], None]
    ) -> None:
        """``on_over`` is called once, when the process ends or leaves one of its pipes."""
        loop = asyncio.get_running_loop()
        self._on_line = on_line
        self._on_over = on_over
        self._lines = LineSplitter(longest_line)
        self._stderr: deque[bytes] = deque()
        self._stderr_size = 0
        self._stderr_written = 0
        self._exited: asyncio.Future[None] = loop.create_future()
        self._read = {STDOUT: loop.create_future(), STDERR: loop.create_future()}
        self._gone: asyncio.Future[None] = loop.create_future()
        self._over = False

    @classmethod
    async def start(
        cls, command: Command, on_line: Callable[[bytes], None], on_over: Callable[[], None]
    ) -> Child:
        """Start a process; raise :class:`NotOpened` if there is none to start."""
        path = command.environ.get("PATH")
        program = await asyncio.to_thread(shutil.which, command.argv[0], path=path)
        try:
            _, child = await asyncio.get_running_loop().subprocess_exec(
                lambda: cls(command.longest_line, on_line, on_over),
                program or command.argv[0],
                *command.argv[1:],
                env=dict(command.environ),
                cwd=command.cwd,
                start_new_session=not _WINDOWS,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            raise NotOpened(
                f"{command.argv[0]!r} cannot be started: {error}",
                "give a program that exists, its arguments apart from it: no shell takes part",
            ) from error
        return child

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._transport.get_returncode()

    @property
    def stderr(self) -> str:
        """The end of what it has written to stderr."""
        return b"".join(self._stderr)[-_STDERR_KEPT:].decode("utf-8", "replace")

    @property
    def stderr_cut(self) -> bool:
        """Whether it has written more to stderr than that."""
        return self._stderr_written > _STDERR_KEPT

    def write(self, line: bytes) -> None:
        """Queue a line for its stdin; what it does not read, it does not get."""
        stdin = self._stdin()
        if not stdin.is_closing():
            stdin.write(line + b"\n")

    async def settled(self, seconds: float) -> None:
        """Wait, within a bound, until it has ended and all that it wrote is read."""
        await asyncio.wait({self._exited, *self._read.values()}, timeout=seconds)

    async def end(self, patience: Patience) -> signal.Signals | None:
        """End it: EOF, then terminate, then kill. What had to be sent, if anything had."""
        try:
            sent = await self._descend(patience)
            await self.settled(patience.pipes)
        finally:
            self._transport.close()
        await asyncio.wait({self._gone}, timeout=patience.pipes)
        return sent

    async def _descend(self, patience: Patience) -> signal.Signals | None:
        try:
            self._stdin().close()
            if await self._exits(patience.eof):
                return None
            self._signal(signal.SIGTERM)
            if await self._exits(patience.terminate):
                return signal.SIGTERM
        finally:
            self._signal(_KILL)  # also for what it has started and may have left behind
        await self._exits(patience.kill)
        return _KILL

    async def _exits(self, seconds: float) -> bool:
        return bool((await asyncio.wait({self._exited}, timeout=seconds))[0])

    # -- the protocol of asyncio --

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == STDERR:
            self._keep(data)
            return
        for line in self._lines.feed(data):
            self._on_line(_kept(line))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == STDOUT:
            for line in self._lines.finish():
                self._on_line(_kept(line))
        if fd != STDIN:
            self._read[fd].set_result(None)
        if fd != STDERR:
            self._is_over()

    def process_exited(self) -> None:
        self._exited.set_result(None)
        self._is_over()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set_result(None)

    # -- inside --

    def _is_over(self) -> None:
        if not self._over:
            self._over = True
            self._on_over()

    def _keep(self, data: bytes) -> None:
        self._stderr.append(data)
        self._stderr_size += len(data)
        self._stderr_written += len(data)
        while self._stderr_size - len(self._stderr[0]) >= _STDERR_KEPT:
            self._stderr_size -= len(self._stderr.popleft())

    def _stdin(self) -> asyncio.WriteTransport:
        return cast(asyncio.WriteTransport, self._transport.get_pipe_transport(STDIN))

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all that it has started."""
        # It has ended already, or (macOS) is a zombie that takes no signal.
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform != "win32":
                os.killpg(self._transport.get_pid(), number)
            else:
                _end_tree(self._transport.get_pid())


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


def _kept(line: ClientLine | ClientLineTooLong) -> bytes:
    """What there is of a line; one that is too long to be kept is no message any more."""
    if isinstance(line, ClientLine):
        return line.line
    return b"a line of %d bytes, which is longer than %d" % (line.size, line.limit)


def _end_tree(pid: int) -> None:
    """Windows has no process groups that could be ended; its own tool knows who started whom."""
    kill = partial(subprocess.run, ["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True)
    asyncio.get_running_loop().run_in_executor(None, kill)
