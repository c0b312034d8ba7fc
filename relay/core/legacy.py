"""The legacy era: a server of 2024-11-05 to 2025-11-25 over streamable HTTP, passed through.

The client's lines are POSTed as they are and the server's messages come down as they are; what
the relay adds is the session id and the version header (2025-11-25, basic/transports).
"""

from __future__ import annotations

import msgspec

from relay.core.commands import (
    ClearTimer,
    Command,
    Emit,
    Level,
    Request,
    SetTimer,
)
from relay.core.era import (
    BUSY,
    CANCELLED,
    DISCOVER,
    INITIALIZE,
    INITIALIZED,
    Context,
    cancelled_call,
    is_cancellation,
)
from relay.core.errors import Code, Problem
from relay.core.events import Event, TimerFired, TimerId
from relay.core.exchanges import Accepted, Answered, Exchange, Exchanges, Over, Received, notice
from relay.core.headers import is_visible_ascii, legacy_post, legacy_session
from relay.core.inflight import Call, FromClient, Lobby
from relay.core.messages import (
    Kind,
    Message,
    fields_of,
    notification,
    problem_of,
    protocol_version_of,
    text_of,
)

GATE_SECONDS = 5.0
"""How long the client's messages wait at most for ``notifications/initialized`` to be accepted."""

CANCEL_SECONDS = 0.05
"""The head start of a request before its cancellation, which takes a connection of its own."""

_DELETE = "DELETE of the session"


class Legacy:
    """One legacy session with the server, for a client that speaks the same era.

    Between ``initialize`` and the acceptance of ``notifications/initialized`` the client's
    messages wait in order: each POST is a connection of its own, and a request that overtakes
    the handshake would be refused.
    """

    def __init__(self, context: Context) -> None:
        self._inflight = context.inflight
        self._exchanges = Exchanges("legacy", context.numbers)
        self._lobby = Lobby(context.options.max_line)
        self._gate: Exchange | None = None
        self._gate_timer = TimerId(f"gate:{next(context.numbers)}")
        self._cancels: dict[TimerId, tuple[Exchange, Message]] = {}
        self._session: str | None = None
        self._version: str | None = None
        self.contradicted = False

    @property
    def busy(self) -> bool:
        return self._exchanges.busy or len(self._lobby) > 0 or bool(self._cancels)

    @property
    def _gated(self) -> bool:
        return self._gate is not None

    def farewell(self) -> list[Command]:
        commands: list[Command] = []
        for timer in tuple(self._cancels):
            commands += [ClearTimer(timer), *self._send_cancel(timer)]
        self._lobby.drain()
        for exchange in self._exchanges:
            if exchange.call is not None and not exchange.settled:
                commands += self._exchanges.release(exchange)
                commands += self._give_up(exchange.call)
        if self._session is not None:
            headers = legacy_session(self._session, self._version)
            commands.append(self._exchanges.open(_DELETE, headers)[1])
            self._session = None
        return commands

    def _give_up(self, call: Call) -> list[Command]:
        if call.method == INITIALIZE:  # never cancelled
            return []
        named = {"requestId": msgspec.Raw(call.request_id)}
        return [self._post(CANCELLED, notification(CANCELLED, named))[1]]

    def receive(self, event: Event | FromClient) -> list[Command]:
        match event:
            case FromClient():
                return self._from_client(event)
            case TimerFired(timer=timer) if timer == self._gate_timer:
                return self._open_gate()
            case TimerFired(timer=timer) if timer in self._cancels:
                return self._send_cancel(timer)
        commands: list[Command] = []
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Answered(exchange=exchange, message=message):
                    commands += self._answered(exchange, message)
                case Accepted(exchange=exchange):
                    commands += self._open_gate_of(exchange)
                case Received(message=message):
                    commands.append(Emit(message.raw))
                case Over(exchange=exchange, problem=problem):
                    commands += self._over(exchange, problem)
                case command:
                    commands.append(command)
        return commands

    # -- the client's messages --

    def _from_client(self, arrival: FromClient) -> list[Command]:
        message = arrival.message
        if message.kind is Kind.RESPONSE:
            # Never held back: the server may ask something before it answers the handshake.
            return [self._post("a response", message.raw)[1]]
        if is_cancellation(message):
            return self._cancel(message)
        if message.kind is Kind.REQUEST and (refusal := _modern_refusal(message)):
            return [] if arrival.call is None else self._inflight.fail(arrival.call, refusal)
        if self._gated:
            return self._park(arrival)
        return self._send(arrival)

    def _park(self, arrival: FromClient) -> list[Command]:
        if self._lobby.admit(arrival):
            return []
        if arrival.call is not None:
            return self._inflight.fail(arrival.call, BUSY)
        return [notice(BUSY, arrival.message.method)]

    def _send(self, arrival: FromClient) -> list[Command]:
        message = arrival.message
        if message.method == INITIALIZE:
            self._session = self._version = None
        exchange, request = self._post(message.method, message.raw, arrival.call)
        if message.method == INITIALIZE:
            self._gate = exchange
        if message.method != INITIALIZED:
            return [request]
        self._gate = exchange
        return [request, SetTimer(self._gate_timer, GATE_SECONDS)]

    def _post(self, method: str, body: bytes, call: Call | None = None) -> tuple[Exchange, Request]:
        return self._exchanges.open(
            method,
            legacy_post(self._session, self._version),
            body,
            expects=None if call is None else call.request_id,
            call=call,
        )

    def _open_gate_of(self, exchange: Exchange) -> list[Command]:
        return self._open_gate() if exchange is self._gate else []

    def _open_gate(self) -> list[Command]:
        """Send what waited, up to the next message that the rest has to wait for."""
        self._gate = None
        commands: list[Command] = [ClearTimer(self._gate_timer)]
        while len(self._lobby) and not self._gated:
            commands += self._send(self._lobby.next())
        return commands

    # -- cancellation: a message to the server, as a lost connection means nothing to it --

    def _cancel(self, message: Message) -> list[Command]:
        call = cancelled_call(message, self._inflight)
        exchange = None if call is None else self._exchanges.of(call)
        if call is None or (exchange is None and not self._lobby.remove(call)):
            return []
        self._inflight.cancel(call)
        if exchange is None:
            return []
        commands: list[Command] = [*self._exchanges.release(exchange)]
        if exchange.status:
            return [*commands, self._post(CANCELLED, message.raw)[1]]
        timer = TimerId(f"cancel:{exchange.id}")
        self._cancels[timer] = (exchange, message)
        return [*commands, SetTimer(timer, CANCEL_SECONDS)]

    def _send_cancel(self, timer: TimerId) -> list[Command]:
        exchange, message = self._cancels.pop(timer)
        if not self._exchanges.is_open(exchange):
            return []
        return [self._post(CANCELLED, message.raw)[1]]

    # -- the server's messages --

    def _answered(self, exchange: Exchange, message: Message) -> list[Command]:
        if exchange.method == INITIALIZE:
            self._adopt(exchange, message)
        self.contradicted = _is_modern_error(exchange, message)
        assert exchange.call is not None, "only the client's requests are sent to be answered"
        commands = self._inflight.respond(exchange.call, message)
        return commands + self._open_gate_of(exchange)

    def _adopt(self, exchange: Exchange, message: Message) -> None:
        """Take session id and version from a successful answer alone.

        Servers attach ids of sessions that they have discarded already to their refusals.
        """
        result = fields_of(message.result)
        if result is None:
            return
        session = exchange.headers.get("mcp-session-id", "")
        version = text_of(result.get("protocolVersion")) or ""
        self._session = session if is_visible_ascii(session) else None
        self._version = version if is_visible_ascii(version) else None

    def _over(self, exchange: Exchange, problem: Problem | None) -> list[Command]:
        commands: list[Command] = []
        if problem is not None and exchange.call is not None:
            commands += self._inflight.fail(exchange.call, problem)
        elif problem is not None:
            level = Level.DEBUG if exchange.method == _DELETE else Level.WARNING
            commands.append(notice(problem, exchange.method, level))
        return commands + self._open_gate_of(exchange)


def _modern_refusal(message: Message) -> Problem | None:
    """What a 2026-07-28 request is told here; its dual-era client then turns to ``initialize``."""
    if message.method == DISCOVER:
        return Problem(
            Code.METHOD_NOT_FOUND,
            "the server speaks an older protocol revision and does not know server/discover",
            {"hint": "send initialize"},
        )
    version = protocol_version_of(message)
    if version is None:
        return None
    return Problem(
        Code.INVALID_REQUEST,
        f"the server does not speak protocol revision {version[:40]!r}: it is of the era of the"
        " initialize handshake",
        {"hint": "send initialize, with a client that speaks 2025-11-25 or older"},
    )


def _is_modern_error(exchange: Exchange, message: Message) -> bool:
    """Whether only a server of 2026-07-28 answers so (basic/versioning, "Era detection")."""
    problem = problem_of(message.error)
    if problem is None:
        return False
    if exchange.method == INITIALIZE and problem.code == Code.METHOD_NOT_FOUND:
        return True
    return problem.code in (
        Code.HEADER_MISMATCH,
        Code.MISSING_CAPABILITY,
        Code.UNSUPPORTED_VERSION,
    )
