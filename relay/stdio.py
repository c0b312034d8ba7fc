"""The client's side: lines in from stdin, lines out to stdout, each behind a thread of its own.

Both are bytes and end in LF on every system. Pipes, files and terminals have no common
non-blocking form across the three systems, so a daemon thread blocks in ``read`` and another in
``write``; what they hand over is bounded in bytes. Neither can hold up the end of the process.

A client that is killed does not always close stdin: another process it has started may hold the
pipe too. So the parent process is looked at now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator

from relay.core.events import ClientClosed, ClientLine, ClientLineTooLong, Terminated

if sys.platform == "win32":
    import msvcrt

MAX_LINE = 100 * 1024 * 1024
"""Longest line read, in bytes without its LF, unless told otherwise."""

MAX_BACKLOG = 1024 * 1024
"""Bytes waiting for stdout above which those who emit wait in :meth:`StdioClient.room`."""

_READ_SIZE = 64 * 1024
_READ_AHEAD = 2  # batches of lines, of one read each, handed over and not yet taken
_JOIN_SIZE = 64 * 1024
_PARENT_SECONDS = 2.0  # between two looks at the parent process

_log = logging.getLogger(__name__)

ClientEvent = ClientLine | ClientLineTooLong | ClientClosed | Terminated


class LineSplitter:
    """Cuts a byte stream into lines, in time linear in its length whatever the reads are."""

    def __init__(self, limit: int) -> None:
        """``limit``: the longest line kept, in bytes; 0 for no limit."""
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[ClientLine | ClientLineTooLong]:
        """Yield the lines that ``data`` completes."""
        begin = 0
        while (end := data.find(b"\n", begin)) >= 0:
            self._keep(data[begin:end])
            yield self._take()
            begin = end + 1
        self._keep(data[begin:])

    def finish(self) -> Iterator[ClientLine | ClientLineTooLong]:
        """Yield the last line if the stream ended without its LF."""
        if self._size:
            yield self._take()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._fits():
            self._parts.append(part)
        else:
            self._parts.clear()

    def _take(self) -> ClientLine | ClientLineTooLong:
        parts, size = self._parts, self._size
        fits = self._fits()
        self._parts, self._size = [], 0
        if fits:
            return ClientLine(b"".join(parts))
        return ClientLineTooLong(size, self._limit)

    def _fits(self) -> bool:
        return not self._limit or self._size <= self._limit


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
        self._reader = _Reader(loop, stdin, LineSplitter(max_line), self._arrive)
        self._writer = _Writer(loop, stdout, self._progress.set, self._stdout_closed)
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
            await asyncio.sleep(0)  # a client that never pauses must not starve the exchanges

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
        while self._writer.watch(0):
            self._progress.clear()
            try:
                async with asyncio.timeout(self._patience):
                    await self._progress.wait()
            except TimeoutError:
                return

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


class _Reader:
    """A daemon thread that reads lines; it waits when two batches have not been taken."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        descriptor: int,
        splitter: LineSplitter,
        deliver: Callable[[list[ClientEvent]], None],
    ) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._splitter = splitter
        self._deliver = deliver
        self._credit = threading.Semaphore(_READ_AHEAD)
        self._thread = threading.Thread(target=self._run, name="stdin-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def taken(self) -> None:
        """Allow one more batch."""
        self._credit.release()

    def _run(self) -> None:
        while data := self._read():
            batch: list[ClientEvent] = list(self._splitter.feed(data))
            if batch:
                self._credit.acquire()
                _post(self._loop, self._deliver, batch)
        _post(self._loop, self._deliver, [*self._splitter.finish(), ClientClosed()])

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _READ_SIZE)
        except OSError:
            return b""  # never opened, or a terminal that hung up: nothing more will come


class _Writer:
    """A daemon thread that writes lines in the order they were put, many in one call."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        descriptor: int,
        on_progress: Callable[[], None],
        on_broken: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._on_progress = on_progress
        self._on_broken = on_broken
        self._lines: list[bytes] = []
        self._backlog = 0
        self._watched = False
        self._broken = False
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="stdout-writer", daemon=True).start()

    def put(self, line: bytes) -> None:
        with self._changed:
            if self._broken:
                return
            self._lines.append(line)
            self._backlog += len(line) + 1
            self._changed.notify()

    def watch(self, mark: int) -> bool:
        """Tell whether more than ``mark`` bytes wait; if so, the next write is reported."""
        with self._changed:
            if self._backlog <= mark:
                return False
            self._watched = True
            return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                lines, self._lines = self._lines, []
            try:
                for piece in _joined(lines):
                    self._write(piece)
            except OSError:
                self._break()
                return

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._descriptor, view)
            view = view[written:]
            with self._changed:
                self._backlog -= written
                watched, self._watched = self._watched, False
            if watched:
                _post(self._loop, self._on_progress)

    def _break(self) -> None:
        with self._changed:
            self._broken = True
            self._lines.clear()
            self._backlog = 0
        _post(self._loop, self._on_broken)


def _joined(lines: list[bytes]) -> Iterator[bytes]:
    """Yield the lines with their LFs; small ones together, big ones uncopied."""
    small = bytearray()
    for line in lines:
        if len(line) < _JOIN_SIZE:
            small += line
        else:
            yield bytes(small)
            yield line
            small.clear()
        small += b"\n"
        if len(small) >= _JOIN_SIZE:
            yield bytes(small)
            small.clear()
    yield bytes(small)


def _post(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: object) -> None:
    """Call on the loop from a thread; a loop already closed needs no call."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *args)


def _binary(*descriptors: int) -> None:
    """Keep Windows from changing LF to CRLF and from ending the input at Ctrl-Z."""
    if sys.platform == "win32":
        for descriptor in descriptors:
            msvcrt.setmode(descriptor, os.O_BINARY)
