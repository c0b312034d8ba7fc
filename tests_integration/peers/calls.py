"""What the tools of every SDK's servers do while a call is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, Protocol, get_args

import anyio

from tests_integration.peers.forked import say

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

LEVELS: tuple[Level, ...] = get_args(Level)
"""Those of log messages, from the least."""


def from_level(least: Level) -> tuple[Level, ...]:
    """The levels of the messages that a client wants that has asked for ``least``."""
    return LEVELS[LEVELS.index(least) :]


@asynccontextmanager
async def telling(key: str) -> AsyncIterator[None]:
    """Say that a call has started, and when it is cancelled."""
    try:
        say(f"started {key}")
        yield
    except anyio.get_cancelled_exc_class():
        say(f"cancelled {key}")
        raise


async def hold(key: str) -> str:
    """Never answer."""
    async with telling(key):
        await anyio.sleep_forever()
    return "unreachable"


class Reporting(Protocol):
    """A call as each SDK hands it to its tools."""

    async def report_progress(self, progress: float, total: float, message: str) -> None: ...
    async def close_sse_stream(self) -> None: ...


async def count(ctx: Reporting, steps: int) -> str:
    """Report progress ``steps`` times, then answer."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return f"counted to {steps}"


async def poll(ctx: Reporting, steps: int, party: str) -> str:
    """Close the stream of the response after the first of several steps."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        if step == 0:
            if party:
                await meet(party, 2)
            await ctx.close_sse_stream()
    return f"polled {steps}"


class Parties:
    """Calls that are answered only once all of a party have come."""

    def __init__(self) -> None:
        self._guests: Counter[str] = Counter()
        self._complete: dict[str, anyio.Event] = {}

    async def meet(self, party: str, size: int) -> str:
        complete = self._complete.setdefault(party, anyio.Event())
        self._guests[party] += 1
        if self._guests[party] == size:
            complete.set()
        await complete.wait()
        return f"{party} met"


_parties = Parties()


# -- tools that are the same whatever the SDK --


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


async def meet(party: str, size: int) -> str:
    """Answer once ``size`` calls of a party are open."""
    return await _parties.meet(party, size)


def fail() -> str:
    """Raise."""
    raise ValueError("broken on purpose")


def note() -> str:
    """A short text."""
    return "grüße, 世界"


def letter(to: str) -> str:
    """Begin a letter."""
    return f"Dear {to},"


TOOLS = (add, meet, fail)
