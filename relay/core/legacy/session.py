"""One session with a legacy server, for a client of the same era: passed through.

The client's lines go up as they are and the server's messages come down as they are; what the
relay adds is the session itself, and a new one in place of one that the server has lost.
"""

from __future__ import annotations

from relay.core.commands import ClearTimer, Command, Emit, Level, Notice, SetTimer
from relay.core.era import BUSY, CANCELLED, INITIALIZE, INITIALIZED, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event, TimerFired, TimerId
from relay.core.exchanges import Accepted, Answered, Arrival, Exchange, Over, Received, notice
from relay.core.inflight import Call, FromClient, Lobby
from relay.core.legacy.cancellations import Cancellations
from relay.core.legacy.channel import Channel, Lost
from relay.core.legacy.contradiction import is_modern_error, was_not_executed
from relay.core.legacy.loss import tells_of_loss
from relay.core.legacy.memory import STATEFUL
from relay.core.legacy.open_questions import OpenQuestions
from relay.core.legacy.recovery import RESTORE_SECONDS, Deliver, Recovery
from relay.core.messages import Kind, Message, fields_of, notification, problem_of
from relay.core.options import ProtocolEra

GATE_SECONDS = 5.0
"""How long the client's messages wait at most for ``notifications/initialized`` to be accepted."""

_SILENCE = Problem(
    Code.INTERNAL_ERROR, f"the server did not answer initialize within {RESTORE_SECONDS:g} s"
)
_AT_ONCE = Problem(
    Code.INTERNAL_ERROR,
    "the server loses each session at once",
    {"hint": "check the server; if there are several behind one URL, they must share sessions"},
)


def to_client(_exchange: Exchange, message: Message) -> list[Command]:
    """Deliver a message as it is."""
    return [Emit(message.raw)]


class LegacySession:
    """One legacy session (:class:`relay.core.era.Era`), and those that take its place.

    Between ``initialize`` and the acceptance of ``notifications/initialized`` the client's
    messages wait in order: each POST is a connection of its own, and a request that overtakes
    the handshake would be refused. They wait as well while the relay itself makes a new session.
    """

    def __init__(
        self,
        context: Context,
        channel: Channel,
        deliver: Deliver = to_client,
        initialize: Message | None = None,
    ) -> None:
        """``initialize`` is what the client said to a server of another era."""
        self._inflight = context.inflight
        self._may_doubt = context.options.protocol_era is ProtocolEra.AUTO
        self._channel = channel
        self._deliver = deliver
        self._lobby = Lobby(context.options.max_line)
        self._gate: Exchange | None = None
        self._gate_timer = TimerId(f"gate:{next(context.numbers)}")
        self._cancellations = Cancellations(channel)
        self._questions = OpenQuestions(context.inflight)
        self._recovery = Recovery(context, channel, deliver, initialize)
        self._leaving = False
        self.contradicted = False

    @property
    def busy(self) -> bool:
        return self._channel.busy or len(self._lobby) > 0 or len(self._cancellations) > 0

    def farewell(self) -> list[Command]:
        self._leaving = True
        commands = self._cancellations.send_all() + self._recovery.stop()
        self._lobby.drain()
        for exchange in self._channel.open_exchanges():
            if exchange.call is not None:
                commands += self._channel.release(exchange)
                if not exchange.bygone:
                    commands += self._cancellations.give_up(exchange.call)
        return commands + self._channel.close()

    def receive(self, event: Event | FromClient) -> list[Command]:
        match event:
            case FromClient():
                return self._from_client(event)
            case TimerFired(timer=timer) if timer == self._gate_timer:
                return self._open_gate()
            case TimerFired(timer=timer) if timer == self._recovery.timer:
                return self._not_restored(_SILENCE)
            case TimerFired(timer=timer) if timer in self._cancellations:
                return self._cancellations.due(timer)
        arrivals = self._channel.receive(event)
        commands: list[Command] = []
        for arrival in arrivals:
            if isinstance(arrival, Lost):  # first of all: nothing more must go to that session
                commands += self._session_lost(arrival.problem)
        for arrival in arrivals:
            if not isinstance(arrival, Lost):
                commands += self._arrived(arrival)
        return commands

    def _arrived(self, arrival: Arrival) -> list[Command]:
        match arrival:
            case Answered(exchange=exchange, message=message):
                return self._answered(exchange, message) + self._open_gate_of(exchange)
            case Accepted(exchange=exchange):
                return self._accepted(exchange) + self._open_gate_of(exchange)
            case Received(exchange=exchange, message=message):
                return self._received(exchange, message)
            case Over(exchange=exchange, problem=problem):
                return self._over(exchange, problem) + self._open_gate_of(exchange)
            case command:
                return [command]

    # -- the client's messages --

    def _from_client(self, arrival: FromClient) -> list[Command]:
        message, call = arrival.message, arrival.call
        if message.kind is Kind.RESPONSE:
            return self._respond(message)
        if self._recovery.needed and message.method != INITIALIZE:
            # The relay tells the new session itself that it is initialized.
            told = call is None and message.method == INITIALIZED
            return [*([] if told else self._park(arrival)), *self._recovery.start()]
        if self._gate is not None or self._recovery.under_way:
            return self._park(arrival)
        return self._send(arrival)

    def _respond(self, message: Message) -> list[Command]:
        """Never held back: the server may ask something before it answers the handshake."""
        body = self._questions.answer(message)
        if body is None or self._recovery.needed:
            return [Notice(Level.DEBUG, "dropped a response to a session that is lost")]
        return self._channel.post("a response", body)[1]

    def _park(self, arrival: FromClient) -> list[Command]:
        if arrival.call is not None and not arrival.call.repeats and not self._lobby.calls():
            self._recovery.join()
        if self._lobby.admit(arrival):
            return []
        if arrival.call is not None:
            return self._inflight.fail(arrival.call, BUSY)
        return [notice(BUSY, arrival.message.method)]

    def _send(self, arrival: FromClient) -> list[Command]:
        message, call = arrival.message, arrival.call
        if call is None and message.method != INITIALIZED:
            return self._channel.notify(message.method, message.raw)
        commands: list[Command] = []
        if message.method == INITIALIZE:
            commands += self._forget_session()
            self._recovery.forget()
        exchange, posted = self._channel.post(
            message.method, message.raw, expects=None if call is None else call.wire_id, call=call
        )
        commands += posted
        if message.method == INITIALIZE:
            self._gate = exchange
        if message.method == INITIALIZED:
            commands += self._await_acceptance(exchange)
        return commands

    def cancel(self, call: Call, message: Message) -> list[Command]:
        exchange = self._channel.of(call)
        if exchange is None:
            self._lobby.remove(call)
            return []
        commands = self._channel.release(exchange)
        if call.method == INITIALIZE:  # never cancelled, but its time may be up
            return commands + self._open_gate_of(exchange)
        if exchange.bygone:
            return commands
        return commands + self._cancellations.send(call, exchange, message)

    # -- the handshake, which holds up what comes behind it --

    def _await_acceptance(self, exchange: Exchange) -> list[Command]:
        self._gate = exchange
        return [SetTimer(self._gate_timer, GATE_SECONDS)]

    def _accepted(self, exchange: Exchange) -> list[Command]:
        begins = exchange.method == INITIALIZED and not exchange.bygone
        return self._channel.begin() if begins and not self._leaving else []

    def _open_gate_of(self, exchange: Exchange) -> list[Command]:
        return self._open_gate() if exchange is self._gate else []

    def _open_gate(self) -> list[Command]:
        """Send what waited, up to the next message that the rest has to wait for."""
        self._gate = None
        commands: list[Command] = [ClearTimer(self._gate_timer), *self._recovery.replay()]
        while len(self._lobby) and self._gate is None:
            commands += self._send(self._lobby.next())
        return commands

    # -- the server's messages --

    def _received(self, exchange: Exchange, message: Message) -> list[Command]:
        if message.kind is Kind.REQUEST:
            if exchange.bygone:
                return [Notice(Level.DEBUG, "dropped a question of a session that is lost")]
            message = self._questions.ask(exchange, message)
        elif message.method == CANCELLED:
            message = self._questions.withdraw(message)
        return self._deliver(exchange, message)

    def _answered(self, exchange: Exchange, message: Message) -> list[Command]:
        call = exchange.call
        if self._recovery.is_handshake(exchange):
            return self._introduced(exchange, message)
        if call is None:
            return self._recovery.replayed(exchange, message)
        if tells_of_loss(exchange, message) or self._came_too_late(exchange):
            return self._refuse(call)
        if is_modern_error(exchange, message) and self._may_doubt:
            self.contradicted = True
            if was_not_executed(exchange) and self._inflight.may_repeat(call):
                self._inflight.repeat(call)
                return []
        learned = [] if exchange.bygone else self._recovery.learn(exchange, message)
        return learned + self._inflight.respond(call, message)

    def _came_too_late(self, exchange: Exchange) -> bool:
        """Whether a lost session has accepted what the present one has not heard of."""
        return exchange.bygone and exchange.method in STATEFUL

    def _over(self, exchange: Exchange, problem: Problem | None) -> list[Command]:
        if self._recovery.is_handshake(exchange):
            return self._not_restored(problem or _SILENCE)
        commands: list[Command] = []
        if problem is not None and exchange.call is not None:
            if tells_of_loss(exchange):
                return self._refuse(exchange.call)
            commands += self._inflight.fail(exchange.call, problem)
        elif problem is not None:
            level = Level.DEBUG if exchange.method.startswith("DELETE") else Level.WARNING
            commands.append(notice(problem, exchange.method, level))
        return commands + self._recovery.replayed(exchange)

    # -- a session that is lost, and the one in its place --

    def _session_lost(self, problem: Problem) -> list[Command]:
        commands = [notice(problem, "the session is lost"), *self._forget_session()]
        if self._recovery.lose():
            return commands + self._recovery.start()
        return commands + self._fail_waiting(_AT_ONCE)

    def _forget_session(self) -> list[Command]:
        for exchange in self._channel.open_exchanges():
            exchange.bygone = True
        commands = self._cancellations.drop() + self._recovery.stop()
        if self._gate is not None:
            self._gate = None
            commands.append(ClearTimer(self._gate_timer))
        for exchange, cancellation in self._questions.abandon():
            commands += self._deliver(exchange, cancellation)
        return commands + self._channel.reset()

    def _refuse(self, call: Call) -> list[Command]:
        """A lost session has refused a call, which has therefore not been executed."""
        if not self._recovery.second_chance(call):
            return self._inflight.fail(call, _AT_ONCE)
        self._inflight.repeat(call)
        return []

    def _introduced(self, exchange: Exchange, message: Message) -> list[Command]:
        """The relay's own ``initialize`` has been answered."""
        result = fields_of(message.result)
        if result is not None:
            commands = self._recovery.restored(result)
            initialized, posted = self._channel.post(INITIALIZED, notification(INITIALIZED, {}))
            return [*commands, *posted, *self._await_acceptance(initialized)]
        if self._may_doubt and is_modern_error(exchange, message):
            return self._not_legacy()
        refusal = Problem(Code.INTERNAL_ERROR, "the server's InitializeResult is no object")
        return self._not_restored(problem_of(message.error) or refusal)

    def _not_legacy(self) -> list[Command]:
        """The server has come back as one of another era; that era is for the session to find."""
        self.contradicted = True
        for arrival in self._lobby.drain():
            if arrival.call is not None:
                self._inflight.repeat(arrival.call)
        return self._recovery.stop()

    def _not_restored(self, problem: Problem) -> list[Command]:
        if self._recovery.late_comer:
            return self._recovery.stop() + self._recovery.start()
        text = f"the session was lost and could not be restored: {problem.message}"
        data = {"hint": "send the request again once the server is well", **(problem.data or {})}
        commands = self._recovery.stop()
        return commands + self._fail_waiting(Problem(problem.code, text, data))

    def _fail_waiting(self, problem: Problem) -> list[Command]:
        commands = [notice(problem, "no session")]
        for arrival in self._lobby.drain():
            if arrival.call is None:
                continue
            if arrival.message.method == INITIALIZE:  # the client helps itself
                self._inflight.repeat(arrival.call)
            else:
                commands += self._inflight.fail(arrival.call, problem)
        return commands
