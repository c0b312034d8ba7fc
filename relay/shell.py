"""The one place where things happen: events go into the core, its commands are carried out.

Every exchange is a task of one task group, so nothing waits for anything else.
The core is called synchronously from whichever task has news and its commands are carried out
before anything else runs: events have one order, and it is the order in which they happened.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Protocol

from relay.core.commands import (
    Abort,
    ClearTimer,
    Command,
    Emit,
    Level,
    Notice,
    Request,
    SetTimer,
    Stop,
)
from relay.core.errors import EventTooLarge
from relay.core.events import (
    Event,
    ExchangeId,
    Failure,
    ServerAnswered,
    ServerEnded,
    ServerFailed,
    ServerSent,
    Started,
    Terminated,
    TimerFired,
    TimerId,
)
from relay.core.sse import SseDecoder, SseEvent, is_event_stream
from relay.http.errors import HttpError
from relay.http.interface import HttpClient, HttpRequest, HttpResponse

INTERNAL_ERROR = 70
"""Exit code after a fault of the relay itself (EX_SOFTWARE of sysexits.h)."""

_EVIDENCE = 4096  # bytes kept of a body that cannot be JSON: enough to recognise a login page
_SHOWN = 200  # characters of a message in a debug line
_LEVELS = {
    Level.DEBUG: logging.DEBUG,
    Level.INFO: logging.INFO,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
}

_log = logging.getLogger(__name__)
_notices = logging.getLogger("relay.core")


Recorder = Callable[[Event, list[Command]], None]
"""Told of every event and its commands, before they are carried out."""


class Core(Protocol):
    """The protocol logic: :class:`relay.core.session.Session`."""

    def receive(self, event: Event) -> list[Command]: ...


class Client(Protocol):
    """The MCP client: :class:`relay.stdio.StdioClient`, or a program in the same process."""

    def events(self) -> AsyncIterator[Event]:
        """Yield what the client does, for as long as it is asked."""

    def send(self, line: bytes) -> None:
        """Queue one message for the client; never blocks."""

    async def room(self) -> None:
        """Return once the queue is short enough for more."""

    async def close(self) -> None:
        """Return once everything sent is delivered, or clearly cannot be."""


class Shell:
    """Runs one session between a client and a server, from start to end."""

    def __init__(
        self,
        core: Core,
        client: Client,
        http: HttpClient,
        *,
        max_message_size: int = 0,
        record: Recorder | None = None,
    ) -> None:
        """``max_message_size`` bounds one message of the server, in bytes; 0: no limit."""
        self._core = core
        self._client = client
        self._http = http
        self._max_message_size = max_message_size or sys.maxsize
        self._record = record
        self._exchanges: dict[ExchangeId, asyncio.Task[None]] = {}
        self._timers: dict[TimerId, asyncio.TimerHandle | asyncio.Task[None]] = {}
        self._tasks = asyncio.TaskGroup()
        self._ended = asyncio.Event()
        self._asked_to_end = asyncio.Event()
        self._reason = ""
        self._code = 0

    async def run(self) -> int:
        """Run until the core says :class:`Stop`; return the exit code.

        A fault of the core or of a task is logged with its traceback and ends the run with
        :data:`INTERNAL_ERROR`: no answer after it could be trusted, and hanging would be worse.
        """
        try:
            async with self._tasks:
                self._tasks.create_task(self._pump())
                self._tasks.create_task(self._termination())
                self._receive(Started())
                try:
                    await self._ended.wait()
                finally:
                    for timer in self._timers.values():
                        timer.cancel()
                raise _EndedError
        except* _EndedError:
            pass
        except* Exception as faults:
            # The task border: whatever gets here is a bug, and it must be seen.
            _log.critical("internal error, please report it", exc_info=faults)
            self._code = INTERNAL_ERROR
        self._ended.set()
        await self._http.aclose()
        await self._client.close()
        return self._code

    def terminate(self, reason: str) -> None:
        """Ask the core to answer what is open and stop at once; call it on the loop."""
        self._reason = reason
        self._asked_to_end.set()

    def _receive(self, event: Event) -> bool:
        """Tell the core and do what it says; true if something went to the client."""
        if self._ended.is_set():
            return False
        commands = self._core.receive(event)
        if self._record is not None:
            self._record(event, commands)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("< %s", _shown(event))
            for command in commands:
                _log.debug("> %s", _shown(command))
        emitted = False
        for command in commands:
            if self._ended.is_set():
                break
            if isinstance(command, Emit):
                self._client.send(command.line)
                emitted = True
            else:
                self._carry_out(command)
        return emitted

    def _carry_out(self, command: Command) -> None:
        match command:
            case Request(exchange):
                self._exchanges[exchange] = self._tasks.create_task(self._exchange(command))
            case Abort(exchange):
                if task := self._exchanges.pop(exchange, None):
                    task.cancel()
            case SetTimer(timer, seconds):
                self._clear(timer)
                loop = asyncio.get_running_loop()
                self._timers[timer] = loop.call_later(seconds, self._ring, timer)
            case ClearTimer(timer):
                self._clear(timer)
            case Notice(level, text):
                _notices.log(_LEVELS[level], "%s", text)
            case Stop(code):
                self._code = code
                self._ended.set()

    def _clear(self, timer: TimerId) -> None:
        if task := self._timers.pop(timer, None):
            task.cancel()

    def _ring(self, timer: TimerId) -> None:
        """A timer has run out: a task tells of it, as that may have to wait for the client."""
        self._timers[timer] = self._tasks.create_task(self._fire(timer))

    async def _fire(self, timer: TimerId) -> None:
        del self._timers[timer]
        await self._tell(TimerFired(timer))

    async def _pump(self) -> None:
        async for event in self._client.events():
            await self._tell(event)

    async def _termination(self) -> None:
        await self._asked_to_end.wait()
        await self._tell(Terminated(self._reason))

    async def _tell(self, event: Event) -> None:
        """Tell the core; who made it emit waits while the client is slow, and nobody else."""
        if self._receive(event):
            await self._client.room()

    async def _exchange(self, request: Request) -> None:
        exchange = request.exchange
        outcome: Event = ServerEnded(exchange)
        wanted = HttpRequest(
            request.verb.value, request.headers, request.body, request.target, request.standing
        )
        try:
            async with self._http.exchange(wanted) as response:
                headers = dict(response.headers)
                await self._tell_of(exchange, [ServerAnswered(exchange, response.status, headers)])
                if is_event_stream(headers.get("content-type", "")):
                    await self._stream(exchange, response)
                elif body := await self._body(response):
                    await self._tell_of(exchange, [ServerSent(exchange, body)])
        except HttpError as error:
            outcome = ServerFailed(
                exchange, error.failure, error.detail, may_have_executed=error.may_have_executed
            )
        if self._exchanges.pop(exchange, None):  # nothing may follow an Abort, whatever HTTP does
            await self._tell(outcome)

    async def _stream(self, exchange: ExchangeId, response: HttpResponse) -> None:
        """Tell of the messages of a stream, each as soon as it is complete."""
        decoder = SseDecoder(self._max_message_size)
        try:
            async for chunk in response.chunks():
                await self._tell_of(exchange, (_sent(exchange, e) for e in decoder.feed(chunk)))
            await self._tell_of(exchange, (_sent(exchange, e) for e in decoder.end()))
        except EventTooLarge as error:
            raise HttpError(Failure.TOO_LARGE, str(error), may_have_executed=True) from error

    async def _tell_of(self, exchange: ExchangeId, events: Iterable[Event]) -> None:
        """Tell of what has come at once, and only then wait for a slow client."""
        emitted = False
        for event in events:
            emitted |= self._receive(event)
            if exchange not in self._exchanges:
                await asyncio.sleep(0)  # the event made the core abort it: the task ends here
        if emitted:
            await self._client.room()

    async def _body(self, response: HttpResponse) -> bytes:
        """Collect a body: all of what can be JSON, the first bytes of anything else."""
        parts: list[bytes] = []
        size = 0
        async for chunk in response.chunks():
            seen = size
            parts.append(chunk)
            size += len(chunk)
            if seen <= _EVIDENCE < size:
                beginning = b"".join(parts)
                if not _begins_like_json(beginning):
                    return beginning[:_EVIDENCE]
            if size > self._max_message_size:
                raise HttpError(
                    Failure.TOO_LARGE,
                    f"a response body exceeds the limit of {self._max_message_size} bytes",
                    may_have_executed=True,
                )
        return b"".join(parts)


class _EndedError(Exception):
    """Ends the task group, the way the asyncio documentation has it."""


@contextmanager
def termination_signals(terminate: Callable[[str], None]) -> Iterator[None]:
    """Call ``terminate`` with the signal's name on SIGTERM and SIGINT, on the running loop."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    previous = {number: signal.getsignal(number) for number in signals}

    def handle(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(terminate, signal.Signals(number).name)

    for number in signals:
        try:
            loop.add_signal_handler(number, terminate, number.name)
        except NotImplementedError:  # Windows
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number in signals:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, previous[number] or signal.SIG_DFL)


def _sent(exchange: ExchangeId, event: SseEvent) -> ServerSent:
    return ServerSent(exchange, event.data, event.event, event.event_id, event.retry)


def _begins_like_json(body: bytes) -> bool:
    """A JSON-RPC message is an object, or an array of them; a BOM or blanks may come first."""
    return body[:_EVIDENCE].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _shown(value: Event | Command) -> str:
    fields = []
    for name in value.__struct_fields__:
        content = getattr(value, name)
        if isinstance(content, bytes):
            content = content[:_SHOWN].decode("utf-8", "replace") + (
                f"… ({len(content)} bytes)" if len(content) > _SHOWN else ""
            )
        fields.append(f"{name}={content!r}")
    return f"{type(value).__name__}({', '.join(fields)})"
