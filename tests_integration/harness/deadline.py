"""One bound for all that a test waits for, so that its waits together fit its own time limit."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """A moment after which nothing is waited for any more."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self._end - self._clock())
