"""What a virtual bus is fed from, and the thread that keeps its time."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from service.buses.clock import Clock

STOP_SECONDS = 2.0
RETRY_SECONDS = 1.0
LONGEST_WAIT = 0.5

logger = logging.getLogger("service.rig")


class Source(Protocol):
    """Frames as a function of time; used by one thread."""

    def step(self, now: float) -> float | None:
        """Send what is due at ``now`` and give the time of the next step; None when it is over.

        Both are in seconds of a monotonic clock.
        """

    def describe(self) -> str:
        """What it is and how far it got, in a few words; from any thread."""

    def close(self) -> None:
        """Leave the bus."""


class Runner:
    """Steps a source on time in a thread of its own; deadlines are absolute, so nothing drifts."""

    def __init__(self, source: Source, name: str, clock: Clock) -> None:
        self._source = source
        self._name = name
        self._clock = clock
        self._stop = threading.Event()
        self._fault = ""
        self._thread = threading.Thread(target=self._run, name=f"rig-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End within a bounded time."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    def describe(self) -> str:
        return self._source.describe() + self._fault

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                due = self._source.step(self._clock.monotonic())
                self._fault = ""
            except Exception as error:  # the task border: a fault must be seen, not end the traffic
                logger.exception("%s: a step failed", self._name)
                self._fault = f" (failed, tried again: {error!r})"
                due = self._clock.monotonic() + RETRY_SECONDS
            if due is None:
                break
            self._clock.wait(self._stop, min(due - self._clock.monotonic(), LONGEST_WAIT))
        self._source.close()
