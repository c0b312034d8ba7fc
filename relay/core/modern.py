"""The modern era: a server of 2026-07-28, for a client of its own era or of an older one.

A client's request tells its era by its ``_meta``. A modern one goes up byte for byte, with the
headers that its body calls for; any other goes through :mod:`relay.core.bridge`. Closing a
response stream *is* cancellation here (2026-07-28, basic/utilities/cancellation).
"""

from __future__ import annotations

import msgspec

from relay.core import downgrade, messages
from relay.core.bridge import LegacyClient
from relay.core.commands import Command, Emit, Level, Notice
from relay.core.era import (
    CANCELLED,
    DISCOVER,
    INITIALIZE,
    LISTEN,
    Context,
    cancelled_call,
    is_cancellation,
)
from relay.core.errors import Code, Problem
from relay.core.events import Event
from relay.core.exchanges import Accepted, Answered, Exchange, Exchanges, Over, Received, notice
from relay.core.headers import is_visible_ascii, modern_post
from relay.core.inflight import Call, FromClient
from relay.core.messages import Fields, Kind, Message, fields_of, items_of, protocol_version_of
from relay.core.toolparams import ToolParams
from relay.core.versions import (
    MODERN_VERSIONS,
    common_modern_version,
    no_common_version,
    offered_versions,
)

_TOOLS_LIST = "tools/list"
_TOOLS_CALL = "tools/call"
_NOT_MODERN_STATUSES = (400, 404, 405)
_LEGACY_CODES = frozenset({int(Code.INVALID_REQUEST), *range(-32019, -31999)})


class Discovered(msgspec.Struct, frozen=True):
    """What ``server/discover`` brought: the revision to speak, and the DiscoverResult."""

    version: str
    result: Fields


class Modern:
    """One stateless server. ``discovered`` is None while its capabilities are not known."""

    def __init__(
        self,
        context: Context,
        discovered: Discovered | None = None,
        initialize: Message | None = None,
    ) -> None:
        self._inflight = context.inflight
        self._exchanges = Exchanges("modern", context.numbers)
        self._discovered = None if discovered is None else discovered.result
        self._version = MODERN_VERSIONS[-1] if discovered is None else discovered.version
        self._client = LegacyClient(context.options, self._version, initialize)
        self._tools = ToolParams()
        self.contradicted = False

    @property
    def busy(self) -> bool:
        return any(
            not exchange.settled and exchange.method != LISTEN for exchange in self._exchanges
        )

    def farewell(self) -> list[Command]:
        return [self._exchanges.abort(exchange) for exchange in self._exchanges]

    def receive(self, event: Event | FromClient) -> list[Command]:
        if isinstance(event, FromClient):
            return self._from_client(event)
        commands: list[Command] = []
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Answered(exchange=exchange, message=message):
                    commands += self._answered(exchange, message)
                case Accepted():
                    pass
                case Received(exchange=exchange, message=message):
                    commands += self._received(exchange, message)
                case Over():
                    commands += self._over(arrival)
                case command:
                    commands.append(command)
        return commands

    # -- the client's messages --

    def _from_client(self, arrival: FromClient) -> list[Command]:
        message, call = arrival.message, arrival.call
        if message.kind is Kind.RESPONSE:
            return [Notice(Level.DEBUG, "a response of the client to nothing that was asked")]
        if is_cancellation(message):
            return self._cancel(message)
        version = protocol_version_of(message)
        if call is None:
            return self._notify(message, version)
        if version is None:
            return self._translate(call)
        return self._send(call, version, fields_of(message.params) or {}, message.raw)

    def _notify(self, message: Message, version: str | None) -> list[Command]:
        if version is None and self._client.swallows(message):
            return []
        params, body = fields_of(message.params) or {}, message.raw
        if version is None:
            version, params = self._version, self._client.stamped(message)
            body = messages.notification(message.method, params)
        refusal = _unfit(message.method, version)
        if refusal is not None:
            return [notice(refusal, "a notification of the client")]
        headers = modern_post(message.method, version, params)
        return [self._exchanges.open(message.method, headers, body)[1]]

    def _translate(self, call: Call) -> list[Command]:
        """Send a legacy client's request in the form of 2026-07-28, or answer it here."""
        answer = self._client.local_answer(call.message)
        method = call.method
        if method == INITIALIZE:
            self._client.introduce(call.message)
            if self._discovered is not None:
                answer = self._client.initialize_result(self._discovered)
            method = DISCOVER
        if isinstance(answer, Problem):
            return self._inflight.fail(call, answer)
        if answer is not None:
            return self._inflight.answer(call, messages.result(call.request_id, answer))
        params = self._client.stamped(call.message)
        body = messages.request(call.request_id, method, params)
        return self._send(call, self._version, params, body, translated=True)

    def _send(
        self, call: Call, version: str, params: Fields, body: bytes, *, translated: bool = False
    ) -> list[Command]:
        method = DISCOVER if call.method == INITIALIZE else call.method
        refusal = _unfit(method, version)
        if refusal is not None:
            return self._inflight.fail(call, refusal)
        headers = modern_post(method, version, params)
        if method == _TOOLS_CALL:
            headers += self._tools.headers(params)
        _, request = self._exchanges.open(
            method, headers, body, expects=call.request_id, call=call, translated=translated
        )
        return [request]

    def _cancel(self, message: Message) -> list[Command]:
        call = cancelled_call(message, self._inflight)
        exchange = None if call is None else self._exchanges.of(call)
        if call is None or exchange is None:
            return []
        self._inflight.cancel(call)
        return [self._exchanges.abort(exchange)]

    # -- the server's messages --

    def _received(self, exchange: Exchange, message: Message) -> list[Command]:
        if message.kind is Kind.REQUEST:
            return [
                Notice(
                    Level.WARNING,
                    f"dropped the server's request {message.method[:40]!r}: there"
                    " are none in revision 2026-07-28",
                )
            ]
        line = downgrade.server_notification(message) if exchange.translated else message.raw
        return [] if line is None else [Emit(line)]

    def _answered(self, exchange: Exchange, message: Message) -> list[Command]:
        call = exchange.call
        assert call is not None, "only the client's requests are sent to be answered"
        self.contradicted = _is_legacy_error(exchange.status, message)
        if message.error is not None:
            return self._inflight.respond(call, message)
        if exchange.translated:
            return self._answer_translated(call, message)
        result, notices = self._sifted(exchange.method, message.result)
        if notices:
            line = messages.result(call.request_id, result)
            return [*notices, *self._inflight.answer(call, line)]
        return self._inflight.respond(call, message)

    def _answer_translated(self, call: Call, message: Message) -> list[Command]:
        sifted, notices = self._sifted(call.method, message.result)
        answer = downgrade.result(call.method, sifted)
        if call.method == INITIALIZE:
            answer = self._introduced(fields_of(message.result) or {})
        if isinstance(answer, Problem):
            return [*notices, *self._inflight.fail(call, answer)]
        line = messages.result(call.request_id, answer)
        return [*notices, *self._inflight.answer(call, line)]

    def _introduced(self, discovered: Fields) -> Fields | Problem:
        offered = offered_versions(discovered, "supportedVersions")
        if common_modern_version(offered) is None:
            return no_common_version(offered)
        self._discovered = discovered
        return self._client.initialize_result(discovered)

    def _sifted(
        self, method: str, result: msgspec.Raw | None
    ) -> tuple[msgspec.Raw | None, list[Command]]:
        """Learn from a page of the tool list and hide what must be hidden from it."""
        fields = fields_of(result)
        if method != _TOOLS_LIST or fields is None:
            return result, []
        legal, complaints = self._tools.learn(items_of(fields.get("tools")))
        if not complaints:
            return result, []
        fields["tools"] = msgspec.Raw(msgspec.json.encode(legal))
        notices: list[Command] = [Notice(Level.WARNING, text) for text in complaints]
        return msgspec.Raw(msgspec.json.encode(fields)), notices

    def _over(self, over: Over) -> list[Command]:
        exchange, problem = over.exchange, over.problem
        if problem is None:
            return []
        if exchange.call is None:
            return [notice(problem, exchange.method)]
        self.contradicted = over.failure is None and exchange.status in _NOT_MODERN_STATUSES
        if exchange.method == LISTEN and exchange.status == 200 and exchange.is_stream:
            return self._listen_lost(exchange.call)
        return self._inflight.fail(exchange.call, problem)

    def _listen_lost(self, call: Call) -> list[Command]:
        """Tell a client that its subscription broke off (2026-07-28, basic/transports/stdio).

        A result would say that the server ended it in good order.
        """
        params = {"requestId": msgspec.Raw(call.request_id)}
        return self._inflight.answer(call, messages.notification(CANCELLED, params))


def _unfit(method: str, version: str) -> Problem | None:
    """Why these cannot stand in a header: they come from JSON and may hold anything."""
    if not is_visible_ascii(method):
        return Problem(Code.INVALID_REQUEST, f"the method {method[:40]!r} is not visible ASCII")
    if not is_visible_ascii(version):
        return Problem(
            Code.INVALID_PARAMS, f"the protocolVersion {version[:40]!r} is not visible ASCII"
        )
    return None


def _is_legacy_error(status: int, message: Message) -> bool:
    """Whether an answer looks like that of a server which is of the older era by now."""
    problem = messages.problem_of(message.error)
    return (
        status in _NOT_MODERN_STATUSES
        and message.request_id is None
        and problem is not None
        and problem.code in _LEGACY_CODES
    )
