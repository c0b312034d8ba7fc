"""A 2026-07-28 client on a legacy server: its requests become requests in sessions of the relay.

Each request says what its sender can do, where the older revisions have a session agree on that
once. So there is one session for each set of capabilities, made when it is first needed.
"""

from __future__ import annotations

import msgspec

from relay.core.commands import Command, Emit, Level, Notice
from relay.core.era import BUSY, CANCELLED, DISCOVER, LISTEN, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event, TimerFired
from relay.core.exchanges import Exchange
from relay.core.inflight import Call, FromClient
from relay.core.legacy import upgrade
from relay.core.legacy.channel import ChannelMaker
from relay.core.legacy.listens import CHANGES, UPDATED, Listens
from relay.core.legacy.own_session import Answer, OwnSession
from relay.core.legacy.runs import Runs
from relay.core.legacy.upgrade import Envelope
from relay.core.messages import Kind, Message, fields_of, request_id_of, text_of
from relay.core.questions import ASKING_METHODS

MAX_SESSIONS = 8
"""Sessions with the server at most; beyond, the one idle for longest is ended."""


class ModernClient:
    """The legacy era's other half (:class:`relay.core.era.Era`): all that is 2026-07-28's."""

    def __init__(self, context: Context, channel: ChannelMaker) -> None:
        self._context = context
        self._inflight = context.inflight
        self._channel = channel
        self._runs = Runs(context)
        self._sessions: dict[bytes, OwnSession] = {}  # by capabilities, the latest used last
        self._leaving: list[OwnSession] = []
        self._listens: dict[OwnSession, Listens] = {}
        self._doubtful = False  # a server of this era would not have refused a session so
        self._farewell = False

    @property
    def _all(self) -> list[OwnSession]:
        return [*self._sessions.values(), *self._leaving]

    @property
    def contradicted(self) -> bool:
        return self._doubtful or any(session.contradicted for session in self._all)

    @contradicted.setter
    def contradicted(self, value: bool) -> None:
        self._doubtful = value
        for session in self._all:
            session.contradicted = value

    @property
    def busy(self) -> bool:
        if self._farewell:
            return any(session.busy for session in self._all)
        return self._runs.busy or any(len(session.lobby) for session in self._all)

    def farewell(self) -> list[Command]:
        self._farewell = True
        commands: list[Command] = []
        for session in self._all:
            commands += [*self._listens[session].lose(), *session.farewell()]
        return commands

    def receive(self, event: Event | FromClient) -> list[Command]:
        if isinstance(event, FromClient):
            return self._from_client(event)
        commands: list[Command] = []
        for session in self._all:
            commands += session.receive(event)
        if isinstance(event, TimerFired):
            commands += self._runs.timer_fired(event.timer)
            for listens in self._listens.values():
                commands += listens.timer_fired(event.timer)
        self._let_go()
        return commands

    def _let_go(self) -> None:
        for session in [session for session in self._leaving if not session.busy]:
            self._leaving.remove(session)
            del self._listens[session]

    def cancel(self, call: Call, message: Message) -> list[Command]:
        commands = self._runs.cancel(call, dict(fields_of(message.params) or {}))
        for session in self._all:
            session.lobby.remove(call)
            commands += self._listens[session].cancel(call)
        return commands

    # -- the client's messages --

    def _from_client(self, arrival: FromClient) -> list[Command]:
        message, call = arrival.message, arrival.call
        envelope = upgrade.envelope_of(message)
        if call is None:
            return self._notify(message, envelope)
        if isinstance(envelope, Problem):
            return self._inflight.fail(call, envelope)
        if message.method in upgrade.REMOVED_METHODS:
            text = f"{message.method} is no method of revision 2026-07-28"
            return self._inflight.fail(call, Problem(Code.METHOD_NOT_FOUND, text))
        params = fields_of(message.params) or {}
        if message.method in ASKING_METHODS and "requestState" in params:
            return self._runs.resume(call, envelope, params)
        return self._in_session(arrival, call, envelope)

    def _notify(self, message: Message, envelope: Envelope | Problem) -> list[Command]:
        """Only a notification of some extension is left, as cancellations go another way."""
        session = None if isinstance(envelope, Problem) else self._sessions.get(envelope.key)
        if session is None or not session.ready:
            return [Notice(Level.DEBUG, f"dropped {message.method[:40]}: it has no session")]
        return session.tell(message.method, upgrade.legacy_params(message))

    def _in_session(self, arrival: FromClient, call: Call, envelope: Envelope) -> list[Command]:
        """Serve a request in the session for its capabilities, as soon as there is one."""
        commands: list[Command] = []
        session = self._sessions.pop(envelope.key, None)
        if session is None:
            commands += self._make_room()
            if len(self._sessions) >= MAX_SESSIONS:
                return commands + self._inflight.fail(call, BUSY)
            session = OwnSession(self._context, self._channel(), envelope, self._heard)
            self._listens[session] = Listens(self._context, session)
        self._sessions[envelope.key] = session
        if session.ready:
            return commands + self._serve(session, call, envelope)
        if not session.lobby.admit(arrival):
            return commands + self._inflight.fail(call, BUSY)
        return commands if session.begun else commands + self._open(session, envelope)

    def _make_room(self) -> list[Command]:
        """End the session that nothing has used for longest, if there are too many."""
        if len(self._sessions) < MAX_SESSIONS:
            return []
        for key, session in self._sessions.items():
            used = len(self._listens[session]) > 0 or self._runs.uses(session)
            if session.ready and not used:
                self._leaving.append(self._sessions.pop(key))
                return session.farewell()
        return []

    def _open(self, session: OwnSession, envelope: Envelope) -> list[Command]:
        return session.open(lambda answer: self._opened(session, envelope.key, answer))

    def _opened(self, session: OwnSession, key: bytes, answer: Answer) -> list[Command]:
        """Serve the requests that waited for the session, or tell them why there is none."""
        waiting = session.lobby.calls()
        session.lobby.drain()
        commands: list[Command] = []
        if not session.ready:
            self._leaving.append(self._sessions.pop(key))
            self._doubtful = self._doubtful or answer.unheard
            commands += session.farewell()
        for call in waiting:
            envelope = upgrade.envelope_of(call.message)
            if session.ready and isinstance(envelope, Envelope):
                commands += self._serve(session, call, envelope)
            elif answer.unheard and self._inflight.may_repeat(call):
                self._inflight.repeat(call)
            else:
                commands += self._inflight.fail(call, upgrade.failed(answer.error, {}))
        return commands

    def _serve(self, session: OwnSession, call: Call, envelope: Envelope) -> list[Command]:
        if call.method == DISCOVER:
            return self._inflight.succeed(call, upgrade.discover_result(session.server))
        if call.method == LISTEN:
            return self._listens[session].begin(call, fields_of(call.message.params) or {})
        return self._runs.begin(session, call, envelope)

    # -- the server's messages --

    def _heard(self, session: OwnSession, exchange: Exchange, message: Message) -> list[Command]:
        if message.kind is Kind.REQUEST:
            return self._runs.asks(session, exchange, message)
        params = fields_of(message.params) or {}
        match message.method:
            case "notifications/progress":
                return self._runs.progress(session, exchange, message)
            case "notifications/message":
                return self._runs.logs(session, exchange, message)
            case "notifications/elicitation/complete":
                return self._runs.returned(session, text_of(params.get("elicitationId")))
            case "notifications/tasks/status":
                return []  # no tasks were asked for
            case method if method == CANCELLED:
                origin = request_id_of(params.get("requestId", msgspec.Raw(b"null")))
                return [] if origin is None else self._runs.withdraws(session, origin)
            case method if method == UPDATED or method in CHANGES:
                return self._listens[session].heard(message)
        return [Emit(message.raw)]  # of an extension
