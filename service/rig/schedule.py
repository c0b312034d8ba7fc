"""Actions in the order of their deadlines."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_LATE_SECONDS = 1.0
"""After a longer pause (a suspended machine) missed cycles are left out, not made up in a burst."""

Action = Callable[[float], None]
"""Gets the time it was due at, in seconds."""


@dataclass(order=True, slots=True)
class _Task:
    due: float
    order: int
    action: Action = field(compare=False)
    nominal: float = field(compare=False)
    period: float = field(compare=False, default=0.0)


class Schedule:
    """Times are in seconds of one monotonic clock.

    A cyclic action is due at ``start + n * period``, give or take ``jitter`` of a period; the
    jitter does not add up.
    """

    def __init__(self, jitter: float = 0.0, seed: int = 0) -> None:
        self._jitter = jitter
        self._random = random.Random(seed)
        self._tasks: list[_Task] = []
        self._order = 0

    def every(self, period: float, start: float, action: Action) -> None:
        self._push(_Task(start, 0, action, start, period))

    def at(self, due: float, action: Action) -> None:
        self._push(_Task(due, 0, action, due))

    def run_due(self, now: float) -> float:
        """Run everything due until ``now``; the time of the next action (infinity without one)."""
        while self._tasks and self._tasks[0].due <= now:
            task = heapq.heappop(self._tasks)
            task.action(task.due)
            if task.period:
                self._repeat(task, now)
        return self._tasks[0].due if self._tasks else math.inf

    def _repeat(self, task: _Task, now: float) -> None:
        task.nominal += task.period
        if (late := now - task.nominal) > MAX_LATE_SECONDS:
            task.nominal += math.floor(late / task.period) * task.period
        task.due = task.nominal + self._random.uniform(-1, 1) * self._jitter * task.period
        self._push(task)

    def _push(self, task: _Task) -> None:
        self._order += 1
        task.order = self._order
        heapq.heappush(self._tasks, task)
