"""A session over any channel, and how one is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import count

from relay.suite.channel import Broken, Channel, Lost, NotOpened, SessionError, TimedOut, Witness
from relay.suite.document import Object
from relay.suite.eras import EraChoice, agree, incomplete, request_of
from relay.suite.judgement import Answer
from relay.suite.outcome import ServerEnd, ServerInfo

Connect = Callable[[Iterator[int], Witness], Awaitable[Channel]]
"""Make a channel that takes the ids of its own requests from the numbers."""

_LONGEST_PROBE = 5.0


class McpSession:
    """A session (:class:`relay.suite.targets.interface.Session`) in an agreed revision."""

    def __init__(self, channel: Channel, info: ServerInfo, numbers: Iterator[int]) -> None:
        self.info = info
        self._channel = channel
        self._numbers = numbers

    @property
    def lost(self) -> ServerEnd | None:
        return self._channel.lost

    async def request(self, method: str, params: Object, seconds: float) -> Answer:
        request = request_of(self.info, next(self._numbers), method, params)
        asking = asyncio.ensure_future(self._channel.ask(request))
        try:
            await asyncio.wait({asking}, timeout=seconds)
            late = not asking.done()
        finally:
            asking.cancel()
        if late:
            await asyncio.wait({asking})  # to a modern server over HTTP, this is the message
            _ = asking.cancelled() or asking.exception()
            await self._channel.abandon(request)
            raise TimedOut(seconds)
        answer = asking.result()
        if fault := incomplete(self.info, answer):
            raise Broken(fault, "assert of a tool that answers at once")
        return answer

    async def close(self) -> ServerEnd | None:
        return await self._channel.close()


class Opener:
    """Opens sessions with one server, and remembers its era (the base of every target)."""

    def __init__(self, connect: Connect, choice: EraChoice, *, starts: bool) -> None:
        """``starts`` says that each channel starts the server, and so may have it again."""
        self._connect = connect
        self._choice = choice
        self._starts = starts
        self._left: ServerEnd | None = None

    async def open(self, seconds: float, witness: Witness) -> McpSession:
        """Open a session (:class:`relay.suite.targets.interface.Target`)."""
        try:
            async with asyncio.timeout(seconds):
                try:
                    session = await self._attempt(self._choice, seconds, witness)
                except Lost:
                    if not self._starts or self._choice is not EraChoice.AUTO:
                        raise
                    # Some legacy servers end when their first message is not initialize.
                    session = await self._attempt(EraChoice.LEGACY, seconds, witness)
        except TimeoutError:
            raise _silent(seconds, self._left) from None
        except Lost as error:
            raise self._unreachable(error) from error
        except Broken as error:
            raise NotOpened(str(error), error.hint) from error
        self._choice = EraChoice(session.info.era)
        return session

    def _unreachable(self, error: Lost) -> NotOpened:
        if not self._starts:
            return NotOpened(str(error), "see whether the server runs and the URL is right")
        return NotOpened(
            f"{error} before it could be spoken to",
            "see its stderr; try the command by hand",
            error.end,
        )

    async def _attempt(self, choice: EraChoice, seconds: float, witness: Witness) -> McpSession:
        numbers = count(1)
        channel = await self._connect(numbers, witness)
        try:
            info = await agree(channel, choice, numbers, min(_LONGEST_PROBE, seconds / 2))
        except asyncio.CancelledError:
            self._left = await channel.close()
            raise
        except SessionError as error:
            end = await channel.close()
            if isinstance(error, NotOpened) and error.end is None:
                raise NotOpened(str(error), error.hint, end) from error
            raise
        return McpSession(channel, info, numbers)


def _silent(seconds: float, end: ServerEnd | None) -> NotOpened:
    return NotOpened(
        f"the server did not complete the handshake within {seconds:g} s",
        "see whether it is an MCP server at all, or allow more time to connect",
        end,
    )
