"""Blocking work in threads that a stuck call can neither multiply nor keep alive at exit."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

ValueT = TypeVar("ValueT")


class WorkerThreads:
    """At most ``limit`` threads at a time; the rest of the calls wait their turn.

    A thread cannot be stopped, so an abandoned one keeps its place until it ends; anyio's limiter
    gives the place away at once. The threads are daemons: a stuck one does not hold up the exit.
    """

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(limit)

    async def run(self, work: Callable[[], ValueT]) -> ValueT:
        """What ``work`` returns. Cancelling the wait abandons the thread, not its place."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[ValueT] = loop.create_future()
        await self._free.acquire()

        def deliver(result: ValueT | None, error: BaseException | None) -> None:
            self._free.release()
            if outcome.cancelled():
                return
            if error is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(result)  # type: ignore[arg-type]

        def run() -> None:
            result, error = None, None
            try:
                result = context.run(work)
            except BaseException as raised:  # the task border: the waiting call gets it, whole
                error = raised
            try:
                loop.call_soon_threadsafe(deliver, result, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

        context = contextvars.copy_context()
        threading.Thread(target=run, name="tool", daemon=True).start()
        return await outcome
