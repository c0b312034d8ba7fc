"""One consumer's view of a bus from now on: bounded, and never in the reader's way."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from service.buses.ring import Entry
from service.errors import BusNotOpenError
from service.model.frame import Frame


class Subscription:
    """Entries for one task of one event loop; made by ``Bus.subscribe`` on that loop.

    ``async for entry in subscription`` ends when the bus closes. A consumer that is too slow
    loses the oldest entries: ``dropped`` counts them and the sequence numbers show where.
    """

    def __init__(self, bus: str, capacity: int, leave: Callable[[Subscription], None]) -> None:
        self.dropped = 0
        self._bus = bus
        self._capacity = capacity
        self._leave = leave
        self._entries: deque[Entry] = deque()
        self._closed = False
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._waking = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening; what was not read yet is gone."""
        self._leave(self)
        with self._lock:
            self._closed = True
            self._entries.clear()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Entry:
        while True:
            with self._lock:
                if self._entries:
                    return self._entries.popleft()
                if self._closed:
                    raise StopAsyncIteration
                self._ready.clear()
            await self._ready.wait()

    async def wait_for(self, matches: Callable[[Frame], bool], timeout: float) -> Frame:
        """The next frame that matches. ``timeout`` is in seconds.

        Errors: TimeoutError; BusNotOpenError (the bus was closed meanwhile); whatever
        ``matches`` raises.
        """
        async with asyncio.timeout(timeout):
            async for entry in self:
                if entry.frame is not None and matches(entry.frame):
                    return entry.frame
        raise BusNotOpenError(f"bus '{self._bus}' was closed while waiting for a frame")

    def offer(self, entry: Entry) -> None:
        """For the bus, from any thread: never blocks, never raises."""
        with self._lock:
            if self._closed:
                return
            if len(self._entries) >= self._capacity:
                self._entries.popleft()
                self.dropped += 1
            self._entries.append(entry)
            self._wake()

    def end(self) -> None:
        """For the bus, from any thread: no entry will follow."""
        with self._lock:
            self._closed = True
            self._wake()

    def _wake(self) -> None:
        if self._waking:  # one wake-up covers all entries until the loop has run it
            return
        self._waking = True
        try:
            self._loop.call_soon_threadsafe(self._woken)
        except RuntimeError:  # the loop was closed with the subscription left open
            self._closed = True
            self._entries.clear()

    def _woken(self) -> None:
        with self._lock:
            self._waking = False
        self._ready.set()
