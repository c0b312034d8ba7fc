"""Finding out a server's era: one ``server/discover``, beside which the client waits.

The rules are those of 2026-07-28, basic/versioning, "Era detection". What says nothing about the
era (no connection, HTTP 429 and 5xx, silence, a refused authorization) is no verdict: whoever
waits is told within the time limit, and the next request of the client asks the server again.
"""

from __future__ import annotations

import msgspec

from relay.core import messages, outcomes
from relay.core.commands import ClearTimer, Command, Level, Notice, SetTimer
from relay.core.era import BUSY, DISCOVER, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event, Failure, TimerFired, TimerId
from relay.core.exchanges import Answered, Exchange, Exchanges, Over, notice
from relay.core.headers import modern_post
from relay.core.inflight import Call, FromClient, Lobby
from relay.core.messages import Fields, Kind, Message, RequestId, fields_of, problem_of
from relay.core.modern.discovered import Discovered
from relay.core.modern.legacy_client import LegacyClient
from relay.core.options import ProtocolEra
from relay.core.versions import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    common_modern_version,
    no_common_version,
    offered_versions,
)

RETRY_SECONDS = 0.5
"""The pause before the server is asked again while somebody waits."""

_PROBE_ID = RequestId(b'"canferry-probe"')
_NOT_MODERN = frozenset({400, 404, 405, 406, 415})
_PASSING_FAILURES = frozenset({Failure.CONNECT, Failure.CLOSED})


class Verdict(msgspec.Struct, frozen=True):
    """The era, and what ``server/discover`` told of a modern server (None if it would not)."""

    era: ProtocolEra
    discovered: Discovered | None = None


class Again(msgspec.Struct, frozen=True):
    """Ask once more, in the revision that the server prefers."""

    version: str


class Undecided(msgspec.Struct, frozen=True):
    """No verdict. ``passing`` says that it may well be another one in a moment."""

    problem: Problem
    passing: bool = False


Judgement = Verdict | Again | Undecided


def judge_answer(exchange: Exchange, message: Message) -> Judgement:
    """The verdict of a JSON-RPC response to the probe."""
    error = problem_of(message.error)
    if error is not None and error.code == Code.UNSUPPORTED_VERSION:
        return _other_version(message)
    if error is not None and error.code in (Code.HEADER_MISMATCH, Code.MISSING_CAPABILITY):
        return Verdict(ProtocolEra.MODERN)
    result = fields_of(message.result)
    if result is None or exchange.status >= 300:
        return judge_status(exchange, _unanswered(exchange, message.raw))
    offered = offered_versions(result, "supportedVersions")
    version = common_modern_version(offered)
    if version is not None:
        return Verdict(ProtocolEra.MODERN, Discovered(version, result))
    if offered and not set(offered) & set(LEGACY_VERSIONS):
        return Undecided(no_common_version(offered))
    return Verdict(ProtocolEra.LEGACY)


def judge_status(exchange: Exchange, problem: Problem) -> Judgement:
    """The verdict of a complete answer that is none to ``server/discover``."""
    status = exchange.status
    if status < 300 or status in _NOT_MODERN:
        return Verdict(ProtocolEra.LEGACY)
    return Undecided(problem, passing=status == 429 or status >= 500)


def _other_version(message: Message) -> Judgement:
    """-32022: the server tells which revisions it supports."""
    data = fields_of((fields_of(message.error) or {}).get("data")) or {}
    offered = offered_versions(data, "supported")
    version = common_modern_version(offered)
    if version is not None:
        return Again(version)
    if set(offered) & set(LEGACY_VERSIONS):
        return Verdict(ProtocolEra.LEGACY)
    return Undecided(no_common_version(offered))


def _unanswered(exchange: Exchange, evidence: bytes) -> Problem:
    return outcomes.unanswered(
        exchange.status, exchange.headers, evidence, DISCOVER, in_session=False
    )


class Detector:
    """The era before the era: keeps the client's messages in order until there is a verdict.

    Once ``verdict`` is set, :meth:`release` gives what waited and the detector has done its work.
    """

    def __init__(self, context: Context) -> None:
        self._inflight = context.inflight
        self._options = context.options
        self._exchanges = Exchanges("detect", context.numbers, patient=False)
        self._lobby = Lobby(context.options.max_line)
        number = next(context.numbers)
        self._deadline = TimerId(f"probe:{number}")
        self._retry = TimerId(f"probe-again:{number}")
        self._running = False
        self._asked_again = False
        self._last: Problem | None = None
        self.verdict: Verdict | None = None
        self.contradicted = False

    @property
    def busy(self) -> bool:
        return bool(self._lobby.calls())

    def farewell(self) -> list[Command]:
        self._lobby.drain()
        return self._stop()

    def cancel(self, call: Call, message: Message) -> list[Command]:
        self._lobby.remove(call)
        return []

    def release(self) -> list[FromClient]:
        """Hand over what waited."""
        return self._lobby.drain()

    def start(self) -> list[Command]:
        """Ask the server; the answer has ``probe_timeout`` seconds."""
        self._running = True
        self._last = None
        self._asked_again = False
        timer = SetTimer(self._deadline, self._options.probe_timeout)
        return [timer, self._probe(MODERN_VERSIONS[-1])]

    def receive(self, event: Event | FromClient) -> list[Command]:
        match event:
            case FromClient():
                return self._from_client(event)
            case TimerFired(timer=timer) if timer == self._deadline and self._running:
                return self._give_up(self._last or self._silence())
            case TimerFired(timer=timer) if timer == self._retry and self._running:
                return [self._probe(MODERN_VERSIONS[-1])]
        commands: list[Command] = []
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Answered(exchange=exchange, message=message):
                    commands += self._judged(judge_answer(exchange, message))
                case Over(exchange=exchange, problem=problem, failure=failure) if problem:
                    judgement = judge_status(exchange, problem)
                    if failure is not None:
                        judgement = Undecided(problem, passing=failure in _PASSING_FAILURES)
                    commands += self._judged(judgement)
                case Notice():
                    commands.append(arrival)
                case _:
                    pass  # notifications beside the answer, and exchanges that are over
        return commands

    def _from_client(self, arrival: FromClient) -> list[Command]:
        message, call = arrival.message, arrival.call
        if message.kind is Kind.RESPONSE or (call is None and not self._running):
            return [
                Notice(Level.DEBUG, f"dropped, no server yet: {message.method or 'a response'}")
            ]
        if not self._lobby.admit(arrival):
            if call is not None:
                return self._inflight.fail(call, BUSY)
            return [notice(BUSY, message.method)]
        return [] if self._running else self.start()

    def _probe(self, version: str) -> Command:
        params: Fields = LegacyClient(self._options, version).envelope()
        body = messages.request(_PROBE_ID, DISCOVER, params)
        headers = modern_post(DISCOVER, version, params)
        return self._exchanges.post(DISCOVER, headers, body, expects=_PROBE_ID)[1]

    def _judged(self, judgement: Judgement) -> list[Command]:
        if isinstance(judgement, Verdict):
            self.verdict = judgement
            return self._stop()
        if isinstance(judgement, Again):
            if self._asked_again:
                return self._give_up(no_common_version([judgement.version]))
            self._asked_again = True
            return [self._probe(judgement.version)]
        if judgement.passing and self._lobby.calls():
            told = [] if self._last else [notice(judgement.problem, "still trying")]
            self._last = judgement.problem
            return [*told, SetTimer(self._retry, RETRY_SECONDS)]
        return self._give_up(judgement.problem)

    def _stop(self) -> list[Command]:
        self._running = False
        aborts = [
            self._exchanges.abort(exchange)
            for exchange in self._exchanges
            if exchange.is_stream or not exchange.settled
        ]
        return [ClearTimer(self._deadline), ClearTimer(self._retry), *aborts]

    def _give_up(self, problem: Problem) -> list[Command]:
        """Tell everyone who waits; the next request of the client begins anew."""
        commands = self._stop()
        commands.append(notice(problem, "the server's protocol era is not known yet"))
        for arrival in self._lobby.drain():
            if arrival.call is not None:
                commands += self._inflight.fail(arrival.call, problem)
        return commands

    def _silence(self) -> Problem:
        return Problem(
            Code.INTERNAL_ERROR,
            f"the server did not answer {DISCOVER} within {self._options.probe_timeout:g} s",
            {"hint": "check the server; if it is an old one, give --protocol-era legacy"},
        )
