"""Time as the buses and the rigs see it, so that tests need not wait for it."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds of a clock that never steps."""

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Sleep, but no longer than until ``stop`` is set; whether it is set."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        return stop.wait(max(0.0, seconds))
