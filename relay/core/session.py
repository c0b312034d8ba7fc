"""The core's one entry: a session from its first event to its last.

The session reads the client's lines, admits its requests and hands both to the current era. Which
era that is comes from the operator or from :mod:`relay.core.detect`, and may be asked again when
the server contradicts it.
"""

from __future__ import annotations

from enum import Enum, auto
from itertools import count

import msgspec

from relay.core import messages, outcomes
from relay.core.commands import ClearTimer, Command, Level, Notice, SetTimer, Stop
from relay.core.detect import Detector, Verdict
from relay.core.era import (
    CANCELLED,
    LISTEN,
    Context,
    Era,
    cancelled_call,
    is_cancellation,
)
from relay.core.errors import Code, Problem
from relay.core.events import (
    ClientClosed,
    ClientLine,
    ClientLineTooLong,
    Event,
    ServerSent,
    Started,
    Terminated,
    TimerFired,
    TimerId,
)
from relay.core.inflight import Call, FromClient, Inflight
from relay.core.intake import Intake
from relay.core.messages import Message
from relay.core.options import Options, ProtocolEra, Transport
from relay.core.outcomes import TOOL_CALL

__all__ = ["FAREWELL_SECONDS", "Options", "ProtocolEra", "Session"]

FAREWELL_SECONDS = 1.0
"""How long the end waits for the server to take cancellations and the DELETE of the session."""

_DRAIN = TimerId("drain")
_FAREWELL = TimerId("farewell")
_AGEING = TimerId("ageing")
_STDIN_CLOSED = "the client closed stdin"
_AGES = 8  # a request is given up between its total timeout and an eighth more


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
        if options.transport is Transport.SSE and options.protocol_era is ProtocolEra.AUTO:
            # HTTP+SSE is of that era alone: nothing is left to find out.
            options = msgspec.structs.replace(options, protocol_era=ProtocolEra.LEGACY)
        self._options = options
        self._inflight = Inflight()
        self._context = Context(options, self._inflight, count(1))
        self._phase = _Phase.RUNNING
        self._reason = ""
        self._intake = Intake(options, self._inflight)
        self._known: ProtocolEra | None = None
        self._detector: Detector | None = None
        self._era: Era | None = None  # the one in force; kept while it is being doubted
        self._retired: list[Era] = []  # may still have to bring answers
        self._is_ageing = False  # the timer of the overall deadline runs

    @property
    def protocol_era(self) -> ProtocolEra | None:
        """The server's era, once it is known."""
        return self._known

    def receive(self, event: Event) -> list[Command]:
        """Return what is to be done about ``event``."""
        if self._phase is _Phase.STOPPED:
            return []
        commands = self._dispatch(event)
        while (again := self._inflight.to_repeat()) is not None:
            commands += self._to_server(again)
        if self._phase is not _Phase.RUNNING:
            commands += self._advance()
        return commands

    def _dispatch(self, event: Event) -> list[Command]:
        match event:
            case ServerSent():  # by far the most frequent
                return self._pass_on(event)
            case ClientLine(line=line):
                return self._line(line)
            case Started():
                return self._start()
            case ClientLineTooLong(size=size, limit=limit):
                return [self._intake.too_long(size, limit)]
            case ClientClosed():
                return self._client_closed()
            case Terminated(reason=reason):
                return self._terminated(reason)
            case TimerFired(timer=timer) if timer in (_DRAIN, _FAREWELL):
                return self._deadline()
            case TimerFired(timer=timer) if timer == _AGEING:
                return self._grow_older()
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
        commands: list[Command] = [Notice(Level.INFO, f"protocol era: {verdict.era.value} ({how})")]
        if self._era is None or verdict.era is not self._known:
            replaced, self._era = self._era, self._begin(verdict)
            if replaced is not None:
                self._retired.append(replaced)
                if self._intake.initialized is not None:
                    commands += self._era.receive(FromClient(self._intake.initialized))
        self._era.contradicted = False
        self._known = verdict.era
        return commands

    def _begin(self, verdict: Verdict) -> Era:
        """An era for the server; only its own modules are loaded, about half of the core."""
        said = self._intake.initialize
        if verdict.era is ProtocolEra.LEGACY:
            from relay.core.legacy.server import LegacyServer

            return LegacyServer(self._context, None if self._era is None else said)
        from relay.core.modern.server import ModernServer

        return ModernServer(self._context, verdict.discovered, said)

    @property
    def _eras(self) -> list[Era]:
        current = (self._era, self._detector)
        return [*self._retired, *(era for era in current if era is not None)]

    def _pass_on(self, event: Event) -> list[Command]:
        """Give an event of the outside to whom it belongs: the others do not know its number."""
        if self._era is not None and self._detector is None and not self._retired:
            return self._era.receive(event)
        commands: list[Command] = []
        for era in self._eras:
            commands += era.receive(event)
        return commands + self._after_verdict() + self._dismiss()

    def _dismiss(self) -> list[Command]:
        """Let go of an era that was retired and has brought its last answer."""
        commands: list[Command] = []
        for era in [era for era in self._retired if not era.busy]:
            self._retired.remove(era)
            commands += era.farewell()
        return commands

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
            return self._cancelled(arrival.message)
        if self._era is None or (arrival.call is not None and self._in_doubt(self._era)):
            self._detector = self._detector or Detector(self._context)
        waits = self._detector is not None and (self._era is None or arrival.call is not None)
        front = self._detector if waits else self._era
        return [] if front is None else front.receive(arrival)

    def _cancelled(self, message: Message) -> list[Command]:
        call = cancelled_call(message, self._inflight)
        if call is None:
            return []
        return [*self._inflight.abandon(call), *self._tell_eras(call, message)]

    def _tell_eras(self, call: Call, message: Message) -> list[Command]:
        """A cancellation is for the era that carries the call, whichever is in force by now."""
        commands: list[Command] = []
        for era in self._eras:
            commands += era.cancel(call, message)
        return commands

    def _in_doubt(self, era: Era) -> bool:
        return self._options.protocol_era is ProtocolEra.AUTO and era.contradicted

    # -- the client --

    def _line(self, line: bytes) -> list[Command]:
        commands: list[Command] = []
        for arrival in self._intake.read(line):
            if isinstance(arrival, FromClient):
                commands += self._admitted(arrival)
            else:
                commands.append(arrival)
        return commands

    def _admitted(self, arrival: FromClient) -> list[Command]:
        ageing = [] if arrival.call is None else self._ageing()
        return ageing + self._to_server(arrival)

    # -- the overall deadline: one timer for all, as they are many and it is long --

    def _ageing(self) -> list[Command]:
        if not self._options.total_timeout or self._is_ageing:
            return []
        self._is_ageing = True
        return [SetTimer(_AGEING, self._options.total_timeout / _AGES)]

    def _grow_older(self) -> list[Command]:
        commands: list[Command] = []
        for call in self._inflight.overdue(_AGES + 1):
            if call.method != LISTEN:
                commands += self._give_up(call)
        self._is_ageing = False
        return commands + (self._ageing() if len(self._inflight) else [])

    def _give_up(self, call: Call) -> list[Command]:
        limit = f"{self._options.total_timeout:g} s"
        problem = outcomes.overdue(call.method, limit, sent=call.sent)
        named = {"requestId": msgspec.Raw(call.request_id), "reason": msgspec.Raw(b'"timeout"')}
        cancellation = messages.new_notification(CANCELLED, named)
        return self._inflight.fail(call, problem) + self._tell_eras(call, cancellation)

    # -- the end --

    def _client_closed(self) -> list[Command]:
        if self._phase is not _Phase.RUNNING:
            return []
        self._phase = _Phase.DRAINING
        self._reason = _STDIN_CLOSED
        return [SetTimer(_DRAIN, self._options.drain_timeout)]

    def _terminated(self, reason: str) -> list[Command]:
        if self._phase is _Phase.LEAVING:
            return self._stop()
        self._reason = reason
        return self._leave()

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
        """Say so to whoever still waits, and goodbye to the server."""
        self._phase = _Phase.LEAVING
        commands: list[Command] = [ClearTimer(_DRAIN), SetTimer(_FAREWELL, FAREWELL_SECONDS)]
        for call in self._inflight:
            commands += self._inflight.fail(call, _ended(call, self._reason))
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
    data: dict[str, object] = {}
    if reason == _STDIN_CLOSED:
        data["hint"] = "keep stdin open until the answers have come, or raise --drain-timeout"
    text = f"the relay ends before the answer has come ({reason})"
    if call.method == TOOL_CALL and call.sent:
        text += "; the call may have executed"
        data["mayHaveExecuted"] = True
    return Problem(Code.INTERNAL_ERROR, text, data or None)
