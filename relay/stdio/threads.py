"""stdin and stdout behind a thread each, for whatever the event loop cannot wait for.

Files, terminals and Windows' pipes have no common non-blocking form, so a daemon thread blocks in
``read`` and another in ``write``; what they hand over is bounded in bytes. Neither can hold up the
end of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterable

from relay.core.events import ClientClosed
from relay.stdio.lines import READ_AHEAD, READ_SIZE, ClientEvent, LineSplitter, Piece, joined


class ThreadReader:
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
        self._credit = threading.Semaphore(READ_AHEAD)
        self._thread = threading.Thread(target=self._run, name="stdin-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing: a thread in ``read`` cannot be called back, and is not waited for."""

    def taken(self) -> None:
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
            return os.read(self._descriptor, READ_SIZE)
        except OSError:
            return b""  # never opened, or a terminal that hung up: nothing more will come


class ThreadWriter:
    """A daemon thread that writes lines in the order they were put, many in one call.

    It starts with the first of them.
    """

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
        self._pieces: list[Piece] = []
        self._backlog = 0
        self._watched = False
        self._broken = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether anything waits to be written."""
        return self._backlog > 0

    def put(self, line: bytes) -> None:
        self.write((line, b"\n"))

    def write(self, pieces: Iterable[Piece]) -> None:
        """Put pieces of lines, which follow on what was put before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stdout-writer", daemon=True)
            self._thread.start()
        with self._changed:
            if self._broken:
                return
            for piece in pieces:
                self._pieces.append(piece)
                self._backlog += len(piece)
            self._changed.notify()

    def watch(self, mark: int) -> bool:
        with self._changed:
            if self._backlog <= mark:
                return False
            self._watched = True
            return True

    def _run(self) -> None:
        try:
            while True:
                self._write_all(self._next())
        except OSError:
            self._break()

    def _next(self) -> list[Piece]:
        with self._changed:
            self._changed.wait_for(lambda: self._pieces)
            pieces, self._pieces = self._pieces, []
            return pieces

    def _write_all(self, pieces: list[Piece]) -> None:
        for piece in joined(pieces):
            self._write(piece)

    def _write(self, piece: Piece) -> None:
        view = memoryview(piece)
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
            self._pieces.clear()
            self._backlog = 0
        _post(self._loop, self._on_broken)


def _post(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: object) -> None:
    """Call on the loop from a thread; a loop already closed needs no call."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *args)
