"""A target and a channel without a server, for tests of what is built on them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from relay.suite.channel import Lost, NotOpened, Witness
from relay.suite.document import Object
from relay.suite.judgement import Answer, RpcResult
from relay.suite.outcome import ServerEnd, ServerInfo
from relay.suite.wire import Request

INFO = ServerInfo("fake", "1", "2025-11-25", "legacy")
FINE: Object = {"content": [{"type": "text", "text": "fine"}]}


class Witnessed:
    """A witness that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []

    def noise(self, line: str) -> None:
        self.lines.append(line)

    def note(self, text: str) -> None:
        self.notes.append(text)


Respond = Callable[[str, Object], Answer | Exception]


def fine(method: str, params: Object) -> Answer:
    return RpcResult(FINE)


class FakeSession:
    """Answers as it is told."""

    def __init__(self, respond: Respond, end: ServerEnd | None) -> None:
        self.info = INFO
        self.lost: ServerEnd | None = None
        self.closed = False
        self.asked: list[tuple[str, Object]] = []
        self.seconds: list[float] = []
        self._respond = respond
        self._end = end

    async def request(self, method: str, params: Object, seconds: float) -> Answer:
        self.asked.append((method, params))
        self.seconds.append(seconds)
        answer = self._respond(method, params)
        if isinstance(answer, Lost):
            self.lost = answer.end
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> ServerEnd | None:
        self.closed = True
        return self._end


class FakeTarget:
    """Opens as many sessions as it may."""

    def __init__(
        self, respond: Respond = fine, *, most: int = 1 << 30, end: ServerEnd | None = None
    ) -> None:
        self.sessions: list[FakeSession] = []
        self.witness: Witness = Witnessed()
        self._respond = respond
        self._most = most
        self._end = end

    async def open(self, seconds: float, witness: Witness) -> FakeSession:
        if len(self.sessions) == self._most:
            raise NotOpened("nobody there", "start the server")
        self.witness = witness
        self.sessions.append(FakeSession(self._respond, self._end))
        return self.sessions[-1]


Script = Callable[[Request], Answer | Exception | Awaitable[Answer]]


class FakeChannel:
    """A channel whose server is a function."""

    def __init__(self, script: Script) -> None:
        self.lost: ServerEnd | None = None
        self.requests: list[Request] = []
        self.notified: list[str] = []
        self.abandoned: list[int] = []
        self.closed = False
        self._script = script

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.requests]

    async def ask(self, request: Request) -> Answer:
        self.requests.append(request)
        answer = self._script(request)
        if isinstance(answer, Exception):
            raise answer
        return await answer if isinstance(answer, Awaitable) else answer

    async def notify(self, method: str, params: Object, revision: str) -> None:
        self.notified.append(method)

    async def abandon(self, request: Request) -> None:
        self.abandoned.append(request.id)

    async def close(self) -> ServerEnd | None:
        self.closed = True
        return ServerEnd("closed")


async def never() -> Answer:
    await asyncio.Event().wait()
    raise AssertionError
