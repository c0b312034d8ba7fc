"""The modern era: a server of 2026-07-28, for a client of its own era or of an older one.

A client's request tells its era by its ``_meta``. A modern one goes up byte for byte, with the
headers that its body calls for; any other is translated (:mod:`relay.core.modern.translation`).
Closing a response stream *is* cancellation here (2026-07-28, basic/utilities/cancellation).
"""

from __future__ import annotations

import msgspec

from relay.core import messages
from relay.core.commands import Command, Emit, Level, Notice
from relay.core.era import CANCELLED, INITIALIZED, LISTEN, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event
from relay.core.exchanges import Accepted, Answered, Exchange, Exchanges, Over, Received, notice
from relay.core.headers import is_visible_ascii, modern_post
from relay.core.inflight import Call, FromClient
from relay.core.messages import Fields, Kind, Message, fields_of, protocol_version_of
from relay.core.modern.discovered import Discovered
from relay.core.modern.filters import TOOLS_CHANGED
from relay.core.modern.legacy_client import LegacyClient
from relay.core.modern.tools import TOOLS_LIST, ToolCatalogue
from relay.core.modern.translation import Translation
from relay.core.options import ProtocolEra
from relay.core.outcomes import TOOL_CALL
from relay.core.versions import MODERN_VERSIONS

__all__ = ["Discovered", "ModernServer"]

_NOT_MODERN_STATUSES = (400, 404, 405)
_LEGACY_CODES = frozenset({int(Code.INVALID_REQUEST), *range(-32019, -31999)})


class ModernServer:
    """The modern era (:class:`relay.core.era.Era`): one stateless server.

    ``discovered`` is None while its capabilities are not known.
    """

    def __init__(
        self,
        context: Context,
        discovered: Discovered | None = None,
        initialize: Message | None = None,
    ) -> None:
        self._may_doubt = context.options.protocol_era is ProtocolEra.AUTO
        self._inflight = context.inflight
        self._exchanges = Exchanges("modern", context.numbers)
        self._version = MODERN_VERSIONS[-1] if discovered is None else discovered.version
        client = LegacyClient(context.options, self._version, initialize)
        result = None if discovered is None else discovered.result
        self._tools = ToolCatalogue(context, self._version, client.envelope)
        self._translation = Translation(context, self._version, client, result, self._tools.changed)
        self.contradicted = False

    @property
    def busy(self) -> bool:
        if self._translation.busy or self._tools.busy:
            return True
        return any(
            not exchange.settled and exchange.method != LISTEN for exchange in self._exchanges
        )

    def farewell(self) -> list[Command]:
        commands: list[Command] = []
        for exchange in self._exchanges:
            commands.append(self._exchanges.abort(exchange))
            if exchange.call is not None:
                commands += self._listen_lost(exchange.call)
        return [*commands, *self._translation.farewell(), *self._tools.farewell()]

    def receive(self, event: Event | FromClient) -> list[Command]:
        if isinstance(event, FromClient):
            return self._from_client(event)
        commands: list[Command] = []
        if not self._exchanges.concern(event):
            commands += [*self._translation.receive(event), *self._tools.receive(event)]
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Received(exchange=exchange, message=message):
                    commands += self._received(exchange, message)
                case Answered(exchange=exchange, message=message):
                    commands += self._answered(exchange, message)
                case Accepted():
                    pass
                case Over():
                    commands += self._over(arrival)
                case command:
                    commands.append(command)
        return commands

    # -- the client's messages --

    def _from_client(self, arrival: FromClient) -> list[Command]:
        message, call = arrival.message, arrival.call
        if message.kind is Kind.RESPONSE:
            return self._translation.response(message)
        version = protocol_version_of(message)
        if call is None:
            return self._notify(message, version)
        if version is None:
            return self._translate(call)
        params = fields_of(message.params) or {}
        return self._send(call, message.method, version, params, message.raw)

    def _notify(self, message: Message, version: str | None) -> list[Command]:
        params, body = fields_of(message.params), message.raw
        if version is None:
            if message.method == INITIALIZED:
                return self._translation.begin()
            version, params = self._version, self._translation.notification(message)
            if params is None:
                return []
            body = messages.notification(message.method, params)
        refusal = _unfit(message.method, version)
        if refusal is not None:
            return [notice(refusal, "a notification of the client")]
        headers = modern_post(message.method, version, params or {})
        return self._exchanges.notify(message.method, lambda: headers, body)

    def _translate(self, call: Call) -> list[Command]:
        """Send a legacy client's request in the form of 2026-07-28, or answer it here."""
        up = self._translation.request(call)
        if isinstance(up, list):
            return up
        method, params = up
        body = messages.request(call.wire_id, method, params)
        sent = self._send(call, method, self._version, params, body)
        return [*sent, *self._translation.sent(call)]

    def _send(
        self, call: Call, method: str, version: str, params: Fields, body: bytes
    ) -> list[Command]:
        refusal = _unfit(method, version)
        if refusal is not None:
            return self._fail(call, refusal)
        headers = modern_post(method, version, params)
        if method == TOOL_CALL:
            if self._tools.must_look(call, params):
                return self._tools.look(call, version)
            headers += self._tools.headers(params)
        _, request = self._exchanges.post(method, headers, body, expects=call.wire_id, call=call)
        return [request]

    def cancel(self, call: Call, message: Message) -> list[Command]:
        commands = [*self._translation.cancel(call), *self._tools.cancel(call)]
        exchange = self._exchanges.of(call)
        return commands if exchange is None else [self._exchanges.abort(exchange), *commands]

    # -- the server's messages --

    def _received(self, exchange: Exchange, message: Message) -> list[Command]:
        if message.kind is Kind.REQUEST:
            text = f"dropped the server's request {message.method[:40]!r}: there are none in"
            return [Notice(Level.WARNING, f"{text} revision 2026-07-28")]
        if exchange.settled:
            return [Notice(Level.DEBUG, f"dropped {message.method[:40]!r}: the answer came before")]
        if message.method == TOOLS_CHANGED:
            self._tools.changed()
        if exchange.call is not None and exchange.call in self._translation:
            return self._translation.tell(exchange.call, message)
        return [Emit(message.raw)]

    def _answered(self, exchange: Exchange, message: Message) -> list[Command]:
        call = exchange.call
        assert call is not None, "only the client's requests are sent to be answered"
        if message.error is not None:
            return self._refused(exchange, call, message)
        result, notices = message.result, list[Command]()
        if exchange.method == TOOLS_LIST:
            result, notices = self._tools.sift(result)
        if call in self._translation:
            return [*notices, *self._translation.answer(call, fields_of(result))]
        if result is not message.result and (fields := fields_of(result)) is not None:
            return [*notices, *self._inflight.succeed(call, fields)]
        return [*notices, *self._inflight.respond(call, message)]

    def _refused(self, exchange: Exchange, call: Call, message: Message) -> list[Command]:
        if exchange.method == TOOL_CALL:
            again = self._tools.mismatch(call, message)
            if again is not None:
                return again
        if _is_legacy_error(exchange, message):
            again = self._doubt(call)
            if again is not None:
                return again
        return [*self._translation.cancel(call), *self._inflight.respond(call, message)]

    def _over(self, over: Over) -> list[Command]:
        exchange, call, problem = over.exchange, over.exchange.call, over.problem
        if problem is None:
            return []
        if call is None:
            return [notice(problem, exchange.method)]
        if over.failure is None and exchange.status in _NOT_MODERN_STATUSES:
            again = self._doubt(call)
            if again is not None:
                return again
        if exchange.method == LISTEN and exchange.status == 200 and exchange.is_stream:
            return self._listen_lost(call)
        return self._fail(call, problem)

    def _fail(self, call: Call, problem: Problem) -> list[Command]:
        return self._translation.fail(call, problem)

    def _doubt(self, call: Call) -> list[Command] | None:
        """Begin a call anew once the server's era is known again; None if that has been tried.

        A server that does not know the era has not carried out the request either.
        """
        self.contradicted = True
        if not self._may_doubt or call.repeats or not self._inflight.may_repeat(call):
            return None
        original, commands = self._translation.withdraw(call)
        self._inflight.repeat(call, original)
        return commands

    def _listen_lost(self, call: Call) -> list[Command]:
        """Tell a client that its subscription broke off (2026-07-28, basic/transports/stdio).

        A result would say that the server ended it in good order.
        """
        params = {"requestId": msgspec.Raw(call.request_id)}
        return self._inflight.end(call, messages.notification(CANCELLED, params))


def _unfit(method: str, version: str) -> Problem | None:
    """Why these cannot stand in a header: they come from JSON and may hold anything."""
    if not is_visible_ascii(method):
        return Problem(Code.INVALID_REQUEST, f"the method {method[:40]!r} is not visible ASCII")
    if not is_visible_ascii(version):
        return Problem(
            Code.INVALID_PARAMS, f"the protocolVersion {version[:40]!r} is not visible ASCII"
        )
    return None


def _is_legacy_error(exchange: Exchange, message: Message) -> bool:
    """Whether an answer looks like that of a server which is of the older era by now.

    It looks for a session before it reads the request, so the error's id is null or one of its own.
    """
    problem = messages.problem_of(message.error)
    return (
        exchange.status in _NOT_MODERN_STATUSES
        and message.request_id != exchange.expects
        and problem is not None
        and problem.code in _LEGACY_CODES
    )
