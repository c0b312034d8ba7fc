"""A driver, a node and a clock that do what a test tells them."""

from __future__ import annotations

import queue
import threading

from service.model.bus_config import BusConfig
from service.model.frame import Frame


class FakeClock:
    """Time that passes only by ``wait`` and ``advance``; ``waits`` lists the seconds asked for."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.waits: list[float] = []
        self._epoch = now
        self._elapsed = 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._epoch + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        with self._lock:
            self.waits.append(seconds)
            self._elapsed += max(0.0, seconds)
        return stop.is_set()

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._elapsed += seconds


class FakeAdapter:
    """An ``Adapter`` whose ``recv`` gives, or raises, what its driver was fed."""

    def __init__(self, driver: FakeDriver) -> None:
        self._driver = driver
        self.closed = False

    @property
    def echoes(self) -> bool:
        return self._driver.echoes

    def recv(self, timeout: float) -> Frame | None:
        try:
            item = self._driver.incoming.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(item, Exception):
            raise item
        return item

    def send(self, frame: Frame) -> None:
        if self._driver.send_errors:
            raise self._driver.send_errors.pop(0)
        self._driver.sent.append(frame)

    def close(self) -> None:
        self.closed = True
        if self._driver.close_error is not None:
            raise self._driver.close_error


class FakeDriver:
    """An ``Opener``. ``open_errors`` and ``send_errors`` are raised once each, in order."""

    def __init__(self, *, echoes: bool = False) -> None:
        self.echoes = echoes
        self.adapters: list[FakeAdapter] = []
        self.incoming: queue.SimpleQueue[Frame | Exception] = queue.SimpleQueue()
        self.open_errors: list[Exception] = []
        self.send_errors: list[Exception] = []
        self.close_error: Exception | None = None
        self.sent: list[Frame] = []

    def __call__(self, name: str, config: BusConfig) -> FakeAdapter:
        if self.open_errors:
            raise self.open_errors.pop(0)
        adapter = FakeAdapter(self)
        self.adapters.append(adapter)
        return adapter

    def feed(self, *items: Frame | Exception) -> None:
        for item in items:
            self.incoming.put(item)


class FakeNode:
    """A ``Node``: ``sent`` is what it put on its bus; ``hear`` is what the others send."""

    def __init__(self) -> None:
        self.sent: list[Frame] = []
        self.closed = False
        self._heard: list[Frame] = []

    def hear(self, *frames: Frame) -> None:
        self._heard.extend(frames)

    def send(self, frame: Frame) -> None:
        self.sent.append(frame)

    def received(self) -> list[Frame]:
        heard, self._heard = self._heard, []
        return heard

    def close(self) -> None:
        self.closed = True
