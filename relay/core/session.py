"""The core's one entry: a session from its first event to its last.

The session reads the client's lines, admits its requests and hands both to the current era. Which
era that is comes from the operator or from :mod:`relay.core.detect`, and may be asked again when
the server contradicts it.
"""

from __future__ import annotations

from enum import Enum, auto
from itertools import count

from relay.core import messages
from relay.core.commands import ClearTimer, Command, Emit, Level, Notice, SetTimer, Stop
from relay.core.detect import Detector, Verdict
from relay.core.era import INITIALIZE, Context, Era, is_cancellation
from relay.core.errors import Code, Malformed, Problem
from relay.core.events import (
    ClientClosed,
    ClientLine,
    ClientLineTooLong,
    Event,
    Started,
    Terminated,
    TimerFired,
    TimerId,
)
from relay.core.inflight import Call, FromClient, Inflight
from relay.core.legacy import Legacy
from relay.core.messages import Kind, Message
from relay.core.modern import Modern
from relay.core.options import Options, ProtocolEra
from relay.core.outcomes import TOOL_CALL

__all__ = ["FAREWELL_SECONDS", "Options", "ProtocolEra", "Session"]

FAREWELL_SECONDS = 1.0
"""How long the end waits for the server to take cancellations and the DELETE of the session."""

_DRAIN = TimerId("drain")
_FAREWELL = TimerId("farewell")


class _Phase(Enum):
    RUNNING = auto()
    DRAINING = auto()  # the client has closed its side; what is open may still be answered
    LEAVING = auto()  # saying goodbye to the server
    STOPPED = auto()


class Session:
    """Give it every event in order; carry out every command it returns, in order.

    The first event is :class:`~relay.core.events.Started`. After
    :class:`~relay.core.commands.Stop` has been returned nothing more is.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._inflight = Inflight()
        self._context = Context(options, self._inflight, count(1))
        self._phase = _Phase.RUNNING
        self._reason = ""
        self._initialize: Message | None = None
        self._known: ProtocolEra | None = None
        self._detector: Detector | None = None
        self._era: Era | None = None  # the one in force; kept while it is being doubted
        self._retired: list[Era] = []  # may still have to bring answers

    @property
    def protocol_era(self) -> ProtocolEra | None:
        """The server's era, once it is known."""
        return self._known

    def receive(self, event: Event) -> list[Command]:
        """Return what is to be done about ``event``."""
        if self._phase is _Phase.STOPPED:
            return []
        commands = self._dispatch(event)
        if self._phase is not _Phase.RUNNING:
            commands += self._advance()
        return commands

    def _dispatch(self, event: Event) -> list[Command]:
        match event:
            case Started():
                return self._start()
            case ClientLine(line=line):
                return self._line(line)
            case ClientLineTooLong(size=size, limit=limit):
                text = f"a line of {size} bytes exceeds the limit of {limit}"
                return [Emit(messages.failure(None, Problem(Code.INVALID_REQUEST, text)))]
            case ClientClosed():
                return self._client_closed()
            case Terminated(reason=reason):
                return self._terminated(reason)
            case TimerFired(timer=timer) if timer in (_DRAIN, _FAREWELL):
                return self._deadline()
            case _:
                return self._pass_on(event)

    # -- the era --

    def _start(self) -> list[Command]:
        if self._options.protocol_era is ProtocolEra.AUTO:
            self._detector = Detector(self._context)
            return self._detector.start()
        return self._settle(Verdict(self._options.protocol_era), "as set")

    def _settle(self, verdict: Verdict, how: str) -> list[Command]:
        """Put an era in force; one that was only doubted goes on with all that it knows."""
        if self._era is None or verdict.era is not self._known:
            if self._era is not None:
                self._retired.append(self._era)
            if verdict.era is ProtocolEra.LEGACY:
                self._era = Legacy(self._context)
            else:
                self._era = Modern(self._context, verdict.discovered, self._initialize)
        self._era.contradicted = False
        self._known = verdict.era
        return [Notice(Level.INFO, f"protocol era: {verdict.era.value} ({how})")]

    @property
    def _eras(self) -> list[Era]:
        current = (self._era, self._detector)
        return [*self._retired, *(era for era in current if era is not None)]

    def _pass_on(self, event: Event) -> list[Command]:
        """Give an event of the outside to whom it belongs: the others do not know its number."""
        commands: list[Command] = []
        for era in self._eras:
            commands += era.receive(event)
        return commands + self._after_verdict()

    def _after_verdict(self) -> list[Command]:
        if self._detector is None or self._detector.verdict is None:
            return []
        detector, verdict = self._detector, self._detector.verdict
        self._detector = None
        commands = self._settle(verdict, "auto-detected")
        for arrival in detector.release():
            commands += self._to_server(arrival)
        return commands

    def _to_server(self, arrival: FromClient) -> list[Command]:
        if self._phase is _Phase.LEAVING:
            call = arrival.call
            return [] if call is None else self._inflight.fail(call, _ended(call, self._reason))
        if is_cancellation(arrival.message):
            return self._cancelled(arrival)
        if self._era is None or (arrival.call is not None and self._in_doubt(self._era)):
            self._detector = self._detector or Detector(self._context)
        waits = self._detector is not None and (self._era is None or arrival.call is not None)
        front = self._detector if waits else self._era
        return [] if front is None else front.receive(arrival)

    def _cancelled(self, arrival: FromClient) -> list[Command]:
        """A cancellation is for the era that carries the call, whichever is in force by now."""
        commands: list[Command] = []
        for era in self._eras:
            commands += era.receive(arrival)
        return commands

    def _in_doubt(self, era: Era) -> bool:
        return self._options.protocol_era is ProtocolEra.AUTO and era.contradicted

    # -- the client --

    def _line(self, line: bytes) -> list[Command]:
        if not line.strip():
            return []
        try:
            message = messages.parse_client(line)
        except Malformed as error:
            return [Emit(messages.failure(self._free_id(error.request_id), error.problem))]
        if message.request_id is None or message.kind is Kind.RESPONSE:
            return self._to_server(FromClient(message))
        call = self._inflight.admit(message, message.request_id)
        if call is None:
            shown = message.request_id[:40].decode(errors="replace")
            problem = Problem(Code.INVALID_REQUEST, f"the id {shown} is that of an open request")
            return [Emit(messages.failure(None, problem))]
        if message.method == INITIALIZE:
            self._initialize = message
        return self._to_server(FromClient(message, call))

    def _free_id(self, request_id: bytes | None) -> messages.RequestId | None:
        """An id may be answered unless a request is open under it, whose answer it would seem."""
        if request_id is None:
            return None
        named = messages.RequestId(request_id)
        return None if self._inflight.find(named) is not None else named

    # -- the end --

    def _client_closed(self) -> list[Command]:
        if self._phase is not _Phase.RUNNING:
            return []
        self._phase = _Phase.DRAINING
        return [SetTimer(_DRAIN, self._options.drain_timeout)]

    def _terminated(self, reason: str) -> list[Command]:
        if self._phase is _Phase.LEAVING:
            return self._stop()
        self._reason = reason
        commands: list[Command] = []
        for call in self._inflight:
            commands += self._inflight.fail(call, _ended(call, reason))
        return commands + self._leave()

    def _deadline(self) -> list[Command]:
        return self._stop() if self._phase is _Phase.LEAVING else self._leave()

    def _advance(self) -> list[Command]:
        """Go on with the end as soon as nothing holds it up."""
        commands: list[Command] = []
        if self._phase is _Phase.DRAINING and not self._busy:
            commands += self._leave()
        if self._phase is _Phase.LEAVING and not self._busy:
            commands += self._stop()
        return commands

    def _leave(self) -> list[Command]:
        """Give up what is still open: nobody is there any more to be answered."""
        self._phase = _Phase.LEAVING
        for call in self._inflight:
            self._inflight.cancel(call)
        commands: list[Command] = [ClearTimer(_DRAIN), SetTimer(_FAREWELL, FAREWELL_SECONDS)]
        for era in self._eras:
            commands += era.farewell()
        return commands

    def _stop(self) -> list[Command]:
        self._phase = _Phase.STOPPED
        return [ClearTimer(_FAREWELL), Stop(0)]

    @property
    def _busy(self) -> bool:
        return any(era.busy for era in self._eras)


def _ended(call: Call, reason: str) -> Problem:
    text = f"the relay was told to end ({reason})"
    if call.method == TOOL_CALL and call.sent:
        return Problem(
            Code.INTERNAL_ERROR,
            f"{text}; the call may have executed",
            {"mayHaveExecuted": True},
        )
    return Problem(Code.INTERNAL_ERROR, text)
