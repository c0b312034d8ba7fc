"""Pipes and sockets served by the event loop itself, where the kernel has calls that never wait.

``O_NONBLOCK`` would do that everywhere, but it belongs to the open file: the process at the other
end of a socket pair, or whoever else writes to this stdout or stderr, would have it too. Linux can
be told with each call instead (preadv2(2), RWF_NOWAIT; for pipes and sockets since 6.4).
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable

from relay.core.events import ClientClosed
from relay.stdio.lines import READ_AHEAD, READ_SIZE, ClientEvent, LineSplitter, Piece, joined
from relay.stdio.threads import ThreadWriter

assert sys.platform == "linux"

_NOWAIT = os.RWF_NOWAIT


def serves(descriptor: int) -> bool:
    """Whether the classes here can be used for a descriptor. A FIFO with a name cannot."""
    try:
        its = os.fstat(descriptor)
    except OSError:
        return False
    reading, writing = os.pipe()
    try:
        os.preadv(reading, [bytearray(1)], -1, _NOWAIT)
    except BlockingIOError:
        return stat.S_ISSOCK(its.st_mode) or its.st_dev == os.fstat(reading).st_dev
    except OSError:
        return False
    finally:
        os.close(reading)
        os.close(writing)
    return False


class LoopReader:
    """Reads lines when there are some, until two batches of them have not been taken."""

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
        self._buffer = memoryview(bytearray(READ_SIZE))
        self._credit = READ_AHEAD
        self._stopped = False

    def start(self) -> None:
        self._loop.add_reader(self._descriptor, self._readable)

    def stop(self) -> None:
        self._stopped = True
        self._loop.remove_reader(self._descriptor)

    def taken(self) -> None:
        self._credit += 1
        if self._credit == 1 and not self._stopped:
            self.start()

    def _readable(self) -> None:
        try:
            size = os.preadv(self._descriptor, [self._buffer], -1, _NOWAIT)
        except BlockingIOError:
            return  # another process has read from the same pipe
        except OSError:
            size = 0  # the connection was reset: nothing more will come
        if not size:
            self.stop()
            self._deliver([*self._splitter.finish(), ClientClosed()])
            return
        batch: list[ClientEvent] = list(self._splitter.feed(bytes(self._buffer[:size])))
        if batch:
            self._credit -= 1
            if not self._credit:
                self._loop.remove_reader(self._descriptor)
            self._deliver(batch)


class LoopWriter:
    """Writes lines at the end of each turn of the loop; a thread waits with what does not fit.

    The thread's one call for a big line takes the client's reads as they come, which is much
    quicker than a turn of the loop for each.
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
        self._overflow = ThreadWriter(loop, descriptor, on_progress, self._break)
        self._lines: list[bytes] = []  # none while the thread still has some
        self._backlog = 0
        self._watched = False
        self._broken = False

    def put(self, line: bytes) -> None:
        if self._broken:
            return
        if self._overflow.busy:
            self._overflow.put(line)
            return
        if not self._lines:
            self._loop.call_soon(self._write)
        self._lines += (line, b"\n")
        self._backlog += len(line) + 1

    def watch(self, mark: int) -> bool:
        if self._backlog <= mark:
            return self._overflow.watch(mark)
        self._watched = True
        return True

    def _write(self) -> None:
        pieces = joined(self._lines)
        self._lines, self._backlog = [], 0
        try:
            for piece in pieces:
                written = self._write_now(piece)
                if written < len(piece):
                    self._overflow.write([memoryview(piece)[written:], *pieces])
        except OSError:
            self._break()
        if self._watched:
            self._watched = False
            self._on_progress()

    def _write_now(self, piece: Piece) -> int:
        try:
            return os.pwritev(self._descriptor, [piece], -1, _NOWAIT)
        except BlockingIOError:
            return 0

    def _break(self) -> None:
        if not self._broken:
            self._broken = True
            self._on_broken()
