"""One request of a 2026-07-28 client at a legacy server, and the questions open in it."""

from __future__ import annotations

import msgspec

from relay.core.commands import Command
from relay.core.errors import Code, Problem
from relay.core.events import TimerId
from relay.core.inflight import Call
from relay.core.legacy import upgrade
from relay.core.legacy.own_session import Answer, OwnSession
from relay.core.legacy.questions import ServerQuestion
from relay.core.legacy.upgrade import Envelope
from relay.core.messages import Fields, Message, RequestId, fields_of, text_of
from relay.core.questions import ASKING_METHODS
from relay.core.versions import LOG_LEVELS

MAX_QUESTIONS = 32
"""Questions open in one request at most."""


class Run:
    """One request at the server, and the request of the client that it is to answer."""

    def __init__(self, session: OwnSession, call: Call, envelope: Envelope, timer: TimerId) -> None:
        self.session = session
        self.method = call.method
        self.params = upgrade.legacy_params(call.message)
        self.call: Call | None = call  # None while it is parked
        self.asked: Call | None = None  # what runs at the server; None when that is over
        self.answer: Answer | None = None  # came while it was parked
        self.envelope = envelope  # of the client's request
        self.token = envelope.token  # the progress token that the server knows
        self.questions: dict[str, ServerQuestion] = {}  # not answered yet
        self.urls: set[str] = set()  # that the user has not come back from
        self.timer = timer  # parked: for the answers; else: to ask, or to go on from URLs
        self.state = ""  # the requestState under which it is parked

    def is_of(self, message: Message) -> bool:
        """Whether a message is this request again, whatever its ``_meta`` says."""
        if message.method != self.method:
            return False
        ours, theirs = _bound(self.params), _bound(upgrade.legacy_params(message))
        return ours == theirs or upgrade.canonical(ours) == upgrade.canonical(theirs)

    def refusal(self, question: ServerQuestion) -> str:
        """Why the client cannot be asked something in the course of this; nothing if it can."""
        if self.method not in ASKING_METHODS:
            return "the client can be asked only in the course of a request that takes input"
        missing = question.question.needs(self.session.capabilities)
        if missing is not None:
            return f"the client has not declared {missing}"
        if len(self.questions) >= MAX_QUESTIONS:
            return "too many questions are open in this request already"
        return ""

    def wants_log(self, level: str | None) -> bool:
        """Whether the client has asked for log messages of a level in the course of this."""
        least = self.envelope.level
        if self.call is None or least is None or level not in LOG_LEVELS:
            return False
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)

    def settle(self, key: str, response: msgspec.Raw) -> list[Command]:
        """Take the client's response to a question; one that is no object is none."""
        fields = fields_of(response)
        if fields is None:
            return []
        question = self.questions.pop(key)
        if question.origin is not None:
            return self.session.reply(question.origin, response)
        if text_of(fields.get("action")) != "accept":
            text = f"{self.method} needs the user to go to {question.url[:200]}, which was declined"
            hint = {"hint": "send the request again when the user is ready to"}
            problem = Problem(Code.INTERNAL_ERROR, text, dict(hint))
            self.answer = Answer(error=problem)
        return []

    def withdraw(self, origin: RequestId) -> None:
        """The server no longer wants to know what it has asked under an id."""
        kept = {key: each for key, each in self.questions.items() if each.origin != origin}
        self.questions = kept

    def ask(self, question: ServerQuestion, number: int) -> None:
        self.questions[f"u{number}"] = question


def _bound(params: Fields) -> Fields:
    return {key: value for key, value in params.items() if key != "_meta"}
