"""A legacy session in which the relay is the client itself, on behalf of 2026-07-28 clients.

It is the session that a legacy client would have, with other ends: requests come from
:meth:`OwnSession.ask`, and what comes down goes to whoever asked or to ``heard``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from relay.core import messages
from relay.core.commands import Command
from relay.core.era import CANCELLED, INITIALIZE, INITIALIZED, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event
from relay.core.exchanges import Exchange
from relay.core.inflight import Call, FromClient, Inflight, Lobby
from relay.core.legacy import upgrade
from relay.core.legacy.channel import Channel
from relay.core.legacy.session import LegacySession
from relay.core.legacy.upgrade import Envelope, Introduction
from relay.core.messages import (
    Fields,
    Kind,
    Message,
    RequestId,
    fields_of,
    new_notification,
    new_request,
)
from relay.core.versions import LOG_LEVELS


class Answer(msgspec.Struct, frozen=True):
    """What became of a request: a result or an error.

    ``unheard`` says that the server is of another era by now and has not looked at the request.
    """

    result: msgspec.Raw | None = None
    error: Problem | msgspec.Raw | None = None
    unheard: bool = False


Then = Callable[[Answer], list[Command]]
Heard = Callable[["OwnSession", Exchange, Message], list[Command]]

_UNHEARD = Answer(
    error=Problem(Code.INTERNAL_ERROR, "the server speaks another protocol revision by now"),
    unheard=True,
)


class OwnCalls(Inflight):
    """The relay's own requests: an answer goes to who asked, once its event is dealt with.

    ``pending`` takes what is to be done then: who asked may send something in turn.
    """

    def __init__(self, pending: deque[Callable[[], list[Command]]]) -> None:
        super().__init__()
        self._pending = pending
        self._then: dict[Call, Then] = {}

    def open(self, method: str, params: Fields, then: Then) -> Call:
        request_id = self.new_id()
        call = self.admit(new_request(request_id, method, params), request_id)
        assert call is not None, "ids are never the same twice"
        self._then[call] = then
        return call

    def respond(self, call: Call, response: Message) -> list[Command]:
        return self._tell(call, Answer(response.result, response.error))

    def fail(self, call: Call, error: Problem | msgspec.Raw) -> list[Command]:
        return self._tell(call, Answer(error=error))

    def abandon(self, call: Call) -> list[Command]:
        self._then.pop(call, None)
        return super().abandon(call)

    def unheard(self, call: Call) -> None:
        self._tell(call, _UNHEARD)

    def _tell(self, call: Call, answer: Answer) -> list[Command]:
        then = self._then.pop(call, None)
        super().abandon(call)
        if then is not None:
            self._pending.append(lambda: then(answer))
        return []


class OwnSession:
    """One session with the server, for all requests that declare the same capabilities.

    It is ``ready`` once the server has introduced itself; the client's requests may wait in
    ``lobby`` for that.
    """

    def __init__(
        self, context: Context, channel: Channel, envelope: Envelope, heard: Heard
    ) -> None:
        self._options = context.options
        self._envelope = envelope
        self._heard = heard
        self._pending: deque[Callable[[], list[Command]]] = deque()
        self._calls = OwnCalls(self._pending)
        own = replace(context, inflight=self._calls)
        self._session = LegacySession(own, channel, self._deliver)
        self._level = len(LOG_LEVELS)
        self.lobby = Lobby(context.options.max_line)
        self.server = Introduction({}, msgspec.Raw(b"{}"))
        self.begun = False
        self.ready = False

    @property
    def capabilities(self) -> Fields:
        """What the client has declared."""
        return self._envelope.capabilities

    @property
    def busy(self) -> bool:
        return self._session.busy

    @property
    def contradicted(self) -> bool:
        return self._session.contradicted

    @contradicted.setter
    def contradicted(self, value: bool) -> None:
        self._session.contradicted = value

    def open(self, opened: Then) -> list[Command]:
        """Make the handshake; ``opened`` is told how it went."""
        self.begun = True
        params = upgrade.initialize_params(self._envelope, self._options)
        return self.ask(INITIALIZE, params, lambda answer: self._introduced(answer, opened))

    def _introduced(self, answer: Answer, opened: Then) -> list[Command]:
        result = fields_of(answer.result)
        if result is None:
            if answer.error is None:
                problem = Problem(Code.INTERNAL_ERROR, "the server's InitializeResult is no object")
                answer = Answer(error=problem)
            return opened(answer)
        self.server = upgrade.introduction(result, self._options)
        self.ready = True
        return self.tell(INITIALIZED, {}) + opened(answer)

    # -- to the server --

    def request(self, method: str, params: Fields, then: Then) -> Call:
        """A request to be sent by :meth:`send`; ``then`` is told its answer unless cancelled."""
        return self._calls.open(method, params, then)

    def send(self, call: Call) -> list[Command]:
        return self._feed(FromClient(call.message, call))

    def ask(self, method: str, params: Fields, then: Then) -> list[Command]:
        return self.send(self.request(method, params, then))

    def tell(self, method: str, params: Fields) -> list[Command]:
        """Send a notification."""
        return self._feed(FromClient(new_notification(method, params)))

    def reply(self, origin: RequestId, answer: msgspec.Raw | Problem) -> list[Command]:
        """Answer a request of the server."""
        if isinstance(answer, Problem):
            line = messages.failure(origin, answer)
            response = messages.parse_client(line)
        else:
            line = messages.result(origin, answer)
            response = Message(Kind.RESPONSE, line, origin, result=answer)
        return self._feed(FromClient(response))

    def at_level(self, level: str | None, then: Callable[[], list[Command]]) -> list[Command]:
        """Go on with ``then`` once the server logs all that ``level`` asks for.

        The level is the session's and is only ever made more verbose: each request is shown what
        it asked for, and no more.
        """
        wanted = len(LOG_LEVELS) if level is None else LOG_LEVELS.index(level)
        if wanted >= self._level or "logging" not in self.server.capabilities:
            return then()
        self._level = wanted
        params = {"level": msgspec.Raw(msgspec.json.encode(level))}
        return self.ask("logging/setLevel", params, lambda _: then())

    def cancel(self, call: Call, named: Fields) -> list[Command]:
        """Give up a request; ``named`` is what the cancellation says besides its id."""
        self._calls.abandon(call)
        params = {**named, "requestId": msgspec.Raw(call.request_id)}
        return self._session.cancel(call, new_notification(CANCELLED, params)) + self._settle()

    def farewell(self) -> list[Command]:
        return self._session.farewell()

    # -- from the server --

    def receive(self, event: Event) -> list[Command]:
        return self._feed(event)

    def _feed(self, event: Event | FromClient) -> list[Command]:
        return self._session.receive(event) + self._settle()

    def _deliver(self, exchange: Exchange, message: Message) -> list[Command]:
        self._pending.append(lambda: self._heard(self, exchange, message))
        return []

    def _settle(self) -> list[Command]:
        """Do all that an event has brought about."""
        commands: list[Command] = []
        while True:
            again = self._calls.to_repeat()
            if again is not None and again.call is not None:
                commands += self._once_more(again, again.call)
            elif self._pending:
                commands += self._pending.popleft()()
            else:
                return commands

    def _once_more(self, arrival: FromClient, call: Call) -> list[Command]:
        if not self.contradicted:
            return self._session.receive(arrival)
        self._calls.unheard(call)
        return []
