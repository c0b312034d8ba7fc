"""A server that is a child process and speaks on its stdin and stdout."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Iterator
from functools import partial

from relay.suite.channel import Broken, Lost, SessionError, Witness
from relay.suite.document import Object
from relay.suite.eras import EraChoice
from relay.suite.judgement import Answer
from relay.suite.outcome import ServerEnd
from relay.suite.targets.child import Child, Command, Patience
from relay.suite.targets.session import Opener
from relay.suite.wire import (
    Answered,
    Asked,
    Incoming,
    NoMessage,
    Request,
    notification,
    read,
    reply,
)

_PATIENCE = Patience()
_AT_ONCE = Patience(eof=0.0)  # for what can no longer be spoken to
_NOISE_KEPT = 20
_LONGEST_NOISE = 500


class StdioTarget(Opener):
    """Starts the process anew for each session."""

    def __init__(
        self,
        command: Command,
        choice: EraChoice = EraChoice.AUTO,
        patience: Patience = _PATIENCE,
    ) -> None:
        super().__init__(partial(_connected, command, patience), choice, starts=True)


async def _connected(
    command: Command, patience: Patience, _numbers: Iterator[int], witness: Witness
) -> StdioChannel:
    channel = StdioChannel(patience, witness)
    await channel.start(command)
    return channel


class StdioChannel:
    """Messages on the pipes of a child process (:class:`relay.suite.channel.Channel`)."""

    def __init__(self, patience: Patience, witness: Witness) -> None:
        self._patience = patience
        self._witness = witness
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._latest = 0
        self._noise: deque[str] = deque(maxlen=_NOISE_KEPT)
        self._closing = False
        self._loss: asyncio.Task[None] | None = None
        self.lost: ServerEnd | None = None

    async def start(self, command: Command) -> None:
        self._child = await Child.start(command, self._line, self._over)

    async def ask(self, request: Request) -> Answer:
        if self.lost is not None:
            raise Lost(self.lost)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = answer
        self._latest = request.id
        try:
            self._child.write(request.body)
            return await answer
        finally:
            del self._waiting[request.id]

    async def notify(self, method: str, params: Object, revision: str) -> None:
        self._child.write(notification(method, params))

    async def abandon(self, request: Request) -> None:
        params: Object = {"requestId": request.id, "reason": "the test has timed out"}
        self._child.write(notification("notifications/cancelled", params))

    async def close(self) -> ServerEnd | None:
        self._closing = True
        try:
            if self._loss is not None:
                await asyncio.wait({self._loss})
        finally:
            sent = await self._child.end(_AT_ONCE if self.lost else self._patience)
        return self.lost or self._end(sent)

    # -- what the child does --

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            messages = read(line)
        except NoMessage:
            self._noisy(line)
            return
        for message in messages:
            self._take(message)

    def _take(self, message: Incoming) -> None:
        match message:
            case Asked():
                if message.method != "ping":
                    self._witness.note(f"the server asked for {message.method[:100]} in vain")
                self._child.write(reply(message))
            case Answered(id=number, answer=answer):
                self._answered(number, answer)

    def _answered(self, number: object, answer: Answer | str) -> None:
        waiting = self._waiting.get(number) if type(number) is int else None
        if waiting is None:
            if type(number) is not int or number > self._latest:
                self._witness.note(f"the server answered a request that nobody made: id {number!r}")
        elif isinstance(answer, str):
            broken = Broken(answer, "mend the server: no client understands this answer")
            _settle(waiting, broken)
        else:
            _settle(waiting, answer)

    def _noisy(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        text = text if len(text) <= _LONGEST_NOISE else f"{text[:_LONGEST_NOISE]}..."
        self._noise.append(text)
        self._witness.noise(text)

    def _over(self) -> None:
        """The process ends, or it can no longer be spoken to."""
        if not self._closing:
            self._loss = asyncio.get_running_loop().create_task(self._lose())

    async def _lose(self) -> None:
        await self._child.settled(self._patience.pipes)
        self.lost = self._end(None)
        for waiting in self._waiting.values():
            _settle(waiting, Lost(self.lost))

    def _end(self, sent: signal.Signals | None) -> ServerEnd:
        code = self._child.exit_code
        name = signal.Signals(-code).name if code is not None and code < 0 else None
        return ServerEnd(
            _told(code, name, sent),
            None if name else code,
            name,
            self._child.stderr,
            self._child.stderr_cut,
            tuple(self._noise),
        )


def _settle(waiting: asyncio.Future[Answer], outcome: Answer | SessionError) -> None:
    """End a wait, unless it has been given up or has ended already: an answer may come twice."""
    if waiting.done():
        return
    if isinstance(outcome, SessionError):
        waiting.set_exception(outcome)
    else:
        waiting.set_result(outcome)


def _told(code: int | None, name: str | None, sent: signal.Signals | None) -> str:
    if sent is not None:
        return f"the server did not end when its stdin was closed, and was sent {sent.name}"
    if code is None:
        return "the server closed its pipes without ending"
    return f"the server was ended by {name}" if name else f"the server exited with code {code}"
