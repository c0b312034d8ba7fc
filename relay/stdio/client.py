"""The MCP client at the other end of stdin and stdout.

A client that is killed does not always close stdin: another process it has started may hold the
pipe too. So the parent process is looked at now and then.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Protocol

from relay.core.events import ClientClosed, Terminated
from relay.stdio.lines import ClientEvent, LineSplitter

if sys.platform == "win32":
    import msvcrt

MAX_LINE = 100 * 1024 * 1024
"""Longest line read, in bytes without its LF, unless told otherwise."""

MAX_BACKLOG = 1024 * 1024
"""Bytes waiting for stdout above which those who emit wait in :meth:`StdioClient.room`."""

_PARENT_SECONDS = 2.0  # between two looks at the parent process

_log = logging.getLogger(__name__)


class StdioClient:
    """The MCP client at the other end of stdin and stdout.

    Make it on the running event loop. One task iterates :meth:`events`; any task may
    :meth:`send`.
    """

    def __init__(
        self, *, stdin: int = 0, stdout: int = 1, max_line: int = MAX_LINE, patience: float = 3.0
    ) -> None:
        """``max_line`` in bytes, 0 for no limit; ``patience`` in seconds, for :meth:`close`."""
        _binary(stdin, stdout)
        loop = asyncio.get_running_loop()
        self._patience = patience
        self._inbox: deque[list[ClientEvent]] = deque()
        self._arrived = asyncio.Event()
        self._progress = asyncio.Event()
        self._reader = _reader(loop, stdin, LineSplitter(max_line), self._arrive)
        self._writer = _writer(loop, stdout, self._progress.set, self._stdout_closed)
        self._parent = _Parent(loop, lambda: self._put([ClientClosed()]))

    async def events(self) -> AsyncGenerator[ClientEvent, None]:
        """Yield what the client does, for as long as it is asked.

        A stdout that is gone comes as :class:`Terminated`, ahead of lines not yet taken.
        """
        self._reader.start()
        while True:
            while not self._inbox:
                self._arrived.clear()
                await self._arrived.wait()
            for event in self._inbox.popleft():
                yield event
            self._reader.taken()

    def send(self, line: bytes) -> None:
        """Queue one message (without LF) for stdout; never blocks. Lost if stdout is gone."""
        self._writer.put(line)

    async def room(self) -> None:
        """Return once at most ``MAX_BACKLOG`` bytes wait for stdout, or it is gone."""
        while self._writer.watch(MAX_BACKLOG):
            self._progress.clear()
            await self._progress.wait()

    async def close(self) -> None:
        """Return once all that was sent is written, or no write ends within the patience."""
        self._parent.forget()
        self._reader.stop()
        with suppress(TimeoutError):
            while self._writer.watch(0):
                self._progress.clear()
                async with asyncio.timeout(self._patience):
                    await self._progress.wait()

    def _arrive(self, batch: list[ClientEvent]) -> None:
        if isinstance(batch[-1], ClientClosed):
            self._parent.forget()
        else:
            self._parent.watch()
        self._put(batch)

    def _put(self, batch: list[ClientEvent]) -> None:
        self._inbox.append(batch)
        self._arrived.set()

    def _stdout_closed(self) -> None:
        self._inbox.appendleft([Terminated("stdout closed")])
        self._arrived.set()
        self._progress.set()


class _Reader(Protocol):
    """Reads lines, at most ``READ_AHEAD`` batches of them ahead of who takes them."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def taken(self) -> None:
        """Allow one more batch."""


class _Writer(Protocol):
    """Writes lines in the order they were put, many in one call."""

    def put(self, line: bytes) -> None: ...

    def watch(self, mark: int) -> bool:
        """Tell whether more than ``mark`` bytes wait; if so, the next write is reported."""


class _Parent:
    """Tells when the process that started the relay is gone.

    Watched from the client's first line on: whoever was gone by then was a launcher (a shell,
    nohup) and no client. Not on Windows, where the parent is the launcher that pip writes and
    outlives the client. The kernel's own notice (Linux, PR_SET_PDEATHSIG) is not used: it comes
    already when the thread that started the relay ends.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, on_gone: Callable[[], None]) -> None:
        self._loop = loop
        self._on_gone = on_gone
        self._process: int | None = None
        self._next_look: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Begin; nothing the second time."""
        if self._process is None and sys.platform != "win32":
            self._process = os.getppid()
            self._look()

    def forget(self) -> None:
        """Look no more."""
        if self._next_look is not None:
            self._next_look.cancel()

    def _look(self) -> None:
        if os.getppid() == self._process:
            self._next_look = self._loop.call_later(_PARENT_SECONDS, self._look)
            return
        _log.warning("the client's process is gone, though its end of stdin is still open")
        self._on_gone()


def _reader(
    loop: asyncio.AbstractEventLoop,
    descriptor: int,
    splitter: LineSplitter,
    deliver: Callable[[list[ClientEvent]], None],
) -> _Reader:
    if sys.platform == "linux":
        from relay.stdio import direct

        if direct.serves(descriptor):
            return direct.LoopReader(loop, descriptor, splitter, deliver)
    from relay.stdio.threads import ThreadReader

    return ThreadReader(loop, descriptor, splitter, deliver)


def _writer(
    loop: asyncio.AbstractEventLoop,
    descriptor: int,
    on_progress: Callable[[], None],
    on_broken: Callable[[], None],
) -> _Writer:
    if sys.platform == "linux":
        from relay.stdio import direct

        if direct.serves(descriptor):
            return direct.LoopWriter(loop, descriptor, on_progress, on_broken)
    from relay.stdio.threads import ThreadWriter

    return ThreadWriter(loop, descriptor, on_progress, on_broken)


def _binary(*descriptors: int) -> None:
    """Keep Windows from changing LF to CRLF and from ending the input at Ctrl-Z."""
    if sys.platform == "win32":
        for descriptor in descriptors:
            msvcrt.setmode(descriptor, os.O_BINARY)
