"""The requests of 2026-07-28 clients that run at a legacy server, across the server's questions.

The server asks in the middle of a request and goes on once it is answered. The client's request
ends with the question instead, and another one brings the answer (2026-07-28, basic/patterns/
mrtr). In between the server's request is *parked*: open at the server, with nobody to answer to.
"""

from __future__ import annotations

import hashlib
import hmac

import msgspec

from relay.core.commands import ClearTimer, Command, Emit, Level, Notice, SetTimer
from relay.core.era import Context
from relay.core.errors import Code, Problem
from relay.core.events import TimerId
from relay.core.exchanges import Exchange
from relay.core.inflight import Call
from relay.core.legacy import upgrade
from relay.core.legacy.own_session import Answer, OwnSession
from relay.core.legacy.questions import (
    ServerQuestion,
    lacking,
    question_of,
    urls_of,
)
from relay.core.legacy.run import MAX_QUESTIONS, Run
from relay.core.legacy.upgrade import Envelope
from relay.core.messages import (
    Fields,
    Message,
    RequestId,
    fields_of,
    notification,
    request_id_of,
    text_of,
)
from relay.core.questions import ASKING_METHODS

GATHER_SECONDS = 0.025
"""How long questions are gathered before the client is asked all of them at once."""

PARKED_SECONDS = 600.0
"""How long the client has for its answers."""

URL_SECONDS = 60.0
"""How long the server has to say that the user is done at a URL before it is asked anyway."""

MAX_PARKED = 64
"""Requests that are parked at most; then the oldest is given up."""


class Runs:
    """All of them, in all sessions."""

    def __init__(self, context: Context) -> None:
        self._inflight = context.inflight
        self._numbers = context.numbers
        self._secret = context.options.secret.encode()
        self._by_call: dict[Call, Run] = {}
        self._by_asked: dict[Call, Run] = {}
        self._parked: dict[str, Run] = {}

    @property
    def busy(self) -> bool:
        """Whether there are any that somebody waits for: nobody does for those that are parked."""
        return bool(self._by_call)

    def _in(self, session: OwnSession) -> list[Run]:
        runs = [*self._by_call.values(), *self._parked.values()]
        return [run for run in runs if run.session is session]

    def uses(self, session: OwnSession) -> bool:
        return bool(self._in(session))

    # -- what the client sends --

    def begin(self, session: OwnSession, call: Call, envelope: Envelope) -> list[Command]:
        """Send a request on its way."""
        run = Run(session, call, envelope, TimerId(f"run:{next(self._numbers)}"))
        self._by_call[call] = run
        return session.at_level(envelope.level, lambda: self._send(run))

    def resume(self, call: Call, envelope: Envelope, params: Fields) -> list[Command]:
        """Go on with a parked request: ``call`` brings answers to its questions."""
        run = self._parked.get(text_of(params["requestState"]) or "")
        if run is None or not run.is_of(call.message):
            text = "the requestState is unknown, expired or of another request"
            data: dict[str, object] = {"hint": "send the request again without requestState"}
            return self._inflight.fail(call, Problem(Code.INVALID_PARAMS, text, data))
        del self._parked[run.state]
        run.call, run.envelope = call, envelope
        call.sent = run.asked is not None
        self._by_call[call] = run
        commands: list[Command] = [ClearTimer(run.timer)]
        responses = fields_of(params.get("inputResponses")) or {}
        for key in [key for key in run.questions if key in responses]:
            commands += run.settle(key, responses[key])
        return commands + self._go_on(run)

    def _go_on(self, run: Run) -> list[Command]:
        """Take up a request again that somebody waits for."""
        if run.answer is not None:
            return self._finish(run, run.answer)
        if run.questions:
            return [SetTimer(run.timer, GATHER_SECONDS)]
        if run.asked is not None:
            return []
        return [SetTimer(run.timer, URL_SECONDS)] if run.urls else self._send(run)

    def cancel(self, call: Call, named: Fields) -> list[Command]:
        """Give up a run for which nobody waits any more."""
        run = self._by_call.get(call)
        if run is None:
            return []
        self._forget(run, call)
        commands: list[Command] = [ClearTimer(run.timer)]
        return commands if run.asked is None else commands + run.session.cancel(run.asked, named)

    # -- to the server --

    def _send(self, run: Run) -> list[Command]:
        if run.call is None or self._by_call.get(run.call) is not run:
            return []  # cancelled before it was sent
        asked = run.session.request(
            run.method, run.params, lambda answer: self._answered(run, answer)
        )
        run.asked, run.call.sent = asked, True
        run.urls.clear()
        self._by_asked[asked] = run
        return run.session.send(asked)

    def _answered(self, run: Run, answer: Answer) -> list[Command]:
        assert run.asked is not None, "an answer is to something"
        del self._by_asked[run.asked]
        run.asked = None
        # What the server still wanted to know it now no longer wants to.
        run.questions.clear()
        if run.call is None:
            run.answer = answer
            return []
        return [ClearTimer(run.timer), *self._finish(run, answer)]

    def _finish(self, run: Run, answer: Answer) -> list[Command]:
        call = run.call
        assert call is not None, "only what somebody waits for is finished"
        urls = urls_of(answer.error) if run.method in ASKING_METHODS else []
        missing = urls[0].question.needs(run.envelope.capabilities) if urls else None
        if urls and missing is None:
            return self._send_to_urls(run, urls)
        self._forget(run, call)
        if missing is not None:
            return self._inflight.fail(call, lacking(missing, run.method))
        if answer.unheard and self._inflight.may_repeat(call):
            self._inflight.repeat(call)
            return []
        fields = fields_of(answer.result)
        if fields is not None:
            completed = upgrade.completed(run.method, fields, run.session.server)
            return self._inflight.succeed(call, completed)
        if answer.error is None:
            text = f"the server's result for {run.method} is no object"
            return self._inflight.fail(call, Problem(Code.INTERNAL_ERROR, text))
        return self._inflight.fail(call, upgrade.failed(answer.error, run.params))

    def _send_to_urls(self, run: Run, urls: list[ServerQuestion]) -> list[Command]:
        run.answer = None
        run.urls = {url.url_id for url in urls[:MAX_QUESTIONS] if url.url_id is not None}
        for url in urls[:MAX_QUESTIONS]:
            run.ask(url, next(self._numbers))
        return self._put(run)

    # -- what the server asks and tells --

    def asks(self, session: OwnSession, exchange: Exchange, message: Message) -> list[Command]:
        """A request of the server."""
        origin = message.request_id
        assert origin is not None, "a request has an id"
        if message.method == "ping":
            return session.reply(origin, msgspec.Raw(b"{}"))
        question, runs = question_of(message), self._about(session, exchange)
        run = runs[0] if len(runs) == 1 else None
        refusal = "the client knows no such request, or runs none that it could be about"
        if question is not None and run is not None:
            refusal = run.refusal(question)
        if question is None or run is None or refusal:
            return session.reply(origin, Problem(Code.METHOD_NOT_FOUND, refusal))
        run.ask(question, next(self._numbers))
        first = len(run.questions) == 1 and run.call is not None
        return [SetTimer(run.timer, GATHER_SECONDS)] if first else []

    def withdraws(self, session: OwnSession, origin: RequestId) -> list[Command]:
        """The server no longer wants to know."""
        for run in self._in(session):
            run.withdraw(origin)
        return []

    def returned(self, session: OwnSession, url_id: str | None) -> list[Command]:
        """The user is done at a URL."""
        commands: list[Command] = []
        for run in self._in(session):
            if url_id in run.urls:
                run.urls.discard(url_id)
                if run.call is not None and not run.urls and not run.questions:
                    commands += [ClearTimer(run.timer), *self._send(run)]
        return commands

    def progress(self, session: OwnSession, exchange: Exchange, message: Message) -> list[Command]:
        """Progress of a request is told to the one that waits for it, under its own token."""
        params = fields_of(message.params) or {}
        told = _id(params.get("progressToken"))
        runs = self._about(session, exchange)
        run = next((each for each in runs if told is not None and _id(each.token) == told), None)
        if run is None or run.call is None or run.envelope.token is None:
            return []
        if told == _id(run.envelope.token):
            return [Emit(message.raw)]
        params["progressToken"] = run.envelope.token
        return [Emit(notification(message.method, params))]

    def logs(self, session: OwnSession, exchange: Exchange, message: Message) -> list[Command]:
        """A log message goes to the request that asked for such (2026-07-28, server/logging).

        It names none: where it may be that of several, all of them must have asked for it.
        """
        runs = self._about(session, exchange)
        level = text_of((fields_of(message.params) or {}).get("level"))
        wanted = bool(runs) and all(run.wants_log(level) for run in runs)
        return [Emit(message.raw)] if wanted else []

    def _about(self, session: OwnSession, exchange: Exchange) -> list[Run]:
        """The runs that a message may belong to: that of its exchange, or any of its session.

        Over HTTP+SSE all messages come on one stream, and some servers of streamable HTTP use
        the standing stream for what belongs to a request.
        """
        if exchange.call is None:
            return [run for run in self._by_asked.values() if run.session is session]
        run = self._by_asked.get(exchange.call)
        return [] if run is None else [run]

    # -- asking the client --

    def timer_fired(self, timer: TimerId) -> list[Command]:
        runs = (*self._parked.values(), *self._by_call.values())
        run = next((each for each in runs if each.timer == timer), None)
        if run is None:
            return []
        if run.call is None:
            return self._expire(run)
        if run.questions:
            return self._put(run)
        return [] if run.asked is not None else self._send(run)

    def _put(self, run: Run) -> list[Command]:
        """End the client's request with the questions, and keep the server's for the answers."""
        call, run.call = run.call, None
        assert call is not None, "only one who waits is asked"
        del self._by_call[call]
        commands: list[Command] = []
        if len(self._parked) >= MAX_PARKED:
            commands += self._expire(next(iter(self._parked.values())))
        number = str(next(self._numbers)).encode()
        run.state = hmac.new(self._secret, number, hashlib.sha256).hexdigest()
        self._parked[run.state] = run
        asked = {key: each.input_request() for key, each in run.questions.items()}
        answer: Fields = {
            "resultType": _raw("input_required"),
            "inputRequests": _raw(asked),
            "requestState": _raw(run.state),
            "_meta": upgrade.stamped(None, run.session.server),
        }
        commands += self._inflight.succeed(call, answer)
        return [*commands, SetTimer(run.timer, PARKED_SECONDS)]

    def _expire(self, run: Run) -> list[Command]:
        """Give up a parked request whose answers did not come."""
        del self._parked[run.state]
        text = f"gave up {run.method}: the client did not come back with the answers it needs"
        commands: list[Command] = [ClearTimer(run.timer), Notice(Level.INFO, text)]
        for question in run.questions.values():
            if question.origin is not None:
                commands += run.session.reply(question.origin, question.unanswered)
        if run.asked is not None:
            del self._by_asked[run.asked]
            commands += run.session.cancel(run.asked, {"reason": _raw("no answer in time")})
        return commands

    def _forget(self, run: Run, call: Call) -> None:
        del self._by_call[call]
        if run.asked is not None:
            del self._by_asked[run.asked]


def _id(raw: msgspec.Raw | None) -> RequestId | None:
    return None if raw is None else request_id_of(raw)


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
