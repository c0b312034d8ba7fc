"""What the tools of every SDK's servers do while a call is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, get_args

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
