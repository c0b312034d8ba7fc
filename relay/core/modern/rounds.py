"""A legacy client's answers to a 2026-07-28 server that wants input before it goes on.

The server's result holds questions; each is put to the client as a request, and once all are
answered the client's own request goes up again with the answers, as often as the server wants
(2026-07-28, basic/patterns/mrtr).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from relay.core import messages
from relay.core.commands import ClearTimer, Command, Emit, Level, Notice, SetTimer
from relay.core.era import CANCELLED
from relay.core.errors import Code, Malformed, Problem
from relay.core.events import Event, TimerFired, TimerId
from relay.core.inflight import Call, Inflight
from relay.core.messages import Fields, Message, RequestId, fields_of
from relay.core.modern import questions
from relay.core.modern.legacy_client import LegacyClient
from relay.core.questions import Question

MAX_ROUNDS = 10
"""How often the server may want input for one call."""

MAX_QUESTIONS = 256
"""Questions that wait for the client at a time, of all calls together."""

TOTAL_SECONDS = 600.0
"""How long after its first question a call may still be sent up with answers.

Servers forget the state of a call after as long.
"""

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 0.25
"""Seconds before a server is asked again that had no question: it sheds load in this way."""

_TOO_OFTEN = Problem(
    Code.INTERNAL_ERROR,
    f"the server wants input more than {MAX_ROUNDS} times for one call",
    {"hint": "check the server: it should ask for all that it needs at once"},
)
_TOO_LATE = Problem(
    Code.INTERNAL_ERROR,
    f"the server's questions were not settled within {TOTAL_SECONDS:g} s of the first",
    {"hint": "call again, and answer sooner"},
)
_REPLACED = Problem(
    Code.INTERNAL_ERROR,
    "the server was replaced by one of another protocol era while its questions were open",
    {"hint": "call again"},
)
_TOO_MANY = Problem(
    Code.INTERNAL_ERROR,
    f"with the server's questions more than {MAX_QUESTIONS} questions would be open",
    {"hint": "answer those that are open, then call again"},
)

_ANSWERS = "inputResponses"
_STATE = "requestState"


class _Talk(msgspec.Struct, eq=False):
    """One call whose server wants input: on its way to the server, paused or with the client."""

    call: Call
    original: Message
    deadline: TimerId
    pause_over: TimerId
    rounds: int = 0
    pause: float = FIRST_PAUSE
    late: bool = False  # its time is up
    paused: bool = False
    state: msgspec.Raw | None = None
    waiting: dict[RequestId, str] = msgspec.field(default_factory=dict)
    answers: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class Rounds:
    """All calls of a legacy client for which the server has wanted input."""

    def __init__(self, inflight: Inflight, numbers: Iterator[int], client: LegacyClient) -> None:
        self._inflight = inflight
        self._numbers = numbers
        self._client = client
        self._talks: dict[Call, _Talk] = {}
        self._asked: dict[RequestId, _Talk] = {}

    @property
    def busy(self) -> bool:
        """Whether a call goes up again by itself; one that waits for the client may never."""
        return any(talk.paused for talk in self._talks.values())

    def original(self, call: Call) -> Message:
        """What the client asked for, without answers."""
        talk = self._talks.get(call)
        return call.message if talk is None else talk.original

    def ask(self, call: Call, result: Fields) -> list[Command]:
        """Take an ``input_required`` result: put its questions, or repeat the call in a moment."""
        begun = self._begin(call)
        talk = self._talks[call]
        talk.rounds += 1
        wanted = self._read(talk, result.get("inputRequests"))
        if isinstance(wanted, Problem):
            return self._end(call, wanted)
        state = result.get(_STATE)
        talk.state = None if state is None or bytes(state) == b"null" else state
        talk.answers = {}
        if not wanted:
            return [*begun, self._pause(talk)]
        return [*begun, *(self._put(talk, key, question) for key, question in wanted.items())]

    def _begin(self, call: Call) -> list[Command]:
        if call in self._talks:
            return []
        number = next(self._numbers)
        deadline = TimerId(f"rounds:{number}")
        self._talks[call] = _Talk(call, call.message, deadline, TimerId(f"pause:{number}"))
        return [SetTimer(deadline, TOTAL_SECONDS)]

    def _read(self, talk: _Talk, asked: msgspec.Raw | None) -> dict[str, Question] | Problem:
        if talk.rounds > MAX_ROUNDS:
            return _TOO_OFTEN
        if talk.late:
            return _TOO_LATE
        wanted = questions.read(asked, self._client.capabilities)
        if not isinstance(wanted, Problem) and len(wanted) + len(self._asked) > MAX_QUESTIONS:
            return _TOO_MANY
        return wanted

    def _pause(self, talk: _Talk) -> Command:
        timer = SetTimer(talk.pause_over, talk.pause)
        talk.paused = True
        talk.pause = min(2 * talk.pause, LONGEST_PAUSE)
        return timer

    def _put(self, talk: _Talk, key: str, question: Question) -> Command:
        request_id = self._inflight.new_id()
        talk.waiting[request_id] = key
        self._asked[request_id] = talk
        params = questions.params_for(question, self._client.revision, request_id)
        return Emit(messages.request(request_id, question.method, params))

    def answer(self, response: Message) -> list[Command]:
        """Take the client's response to a question; an error ends the call that asked."""
        asked = response.request_id
        talk = None if asked is None else self._asked.pop(asked, None)
        if asked is None or talk is None:
            return [Notice(Level.DEBUG, "dropped a response of the client: nothing asks for it")]
        key = talk.waiting.pop(asked)
        if response.error is not None:
            return self._end(talk.call, response.error)
        assert response.result is not None, "a response has a result or an error"
        talk.answers[key] = response.result
        return [] if talk.waiting else self._go_on(talk)

    def _go_on(self, talk: _Talk) -> list[Command]:
        """Have the call sent up as it was at first, with what the server wants beside it."""
        params = dict(fields_of(talk.original.params) or {})
        params.pop(_ANSWERS, None)
        params.pop(_STATE, None)
        if talk.answers:
            params[_ANSWERS] = msgspec.Raw(msgspec.json.encode(talk.answers))
        if talk.state is not None:
            params[_STATE] = talk.state
        line = messages.request(self._inflight.new_id(), talk.original.method, params)
        try:
            message = messages.parse_client(line)
        except Malformed as error:  # an answer may be too deeply nested to stand inside a request
            return self._end(talk.call, error.problem)
        self._inflight.repeat(talk.call, message)
        return []

    def receive(self, event: Event) -> list[Command]:
        """Take in an event; only timers of these calls change anything."""
        if not isinstance(event, TimerFired):
            return []
        for talk in self._talks.values():
            if event.timer == talk.deadline:
                return self._time_is_up(talk)
            if event.timer == talk.pause_over:
                talk.paused = False
                return self._go_on(talk)
        return []

    def _time_is_up(self, talk: _Talk) -> list[Command]:
        """End a call, unless the server works on it: it may have all that it wants."""
        talk.late = True
        held_here = talk.paused or bool(talk.waiting)
        if self._inflight.is_open(talk.call) and not held_here:
            return []
        return self._end(talk.call, _TOO_LATE)

    def _end(self, call: Call, error: Problem | msgspec.Raw) -> list[Command]:
        return [*self.forget(call), *self._inflight.fail(call, error)]

    def forget(self, call: Call) -> list[Command]:
        """Let a call go that is over; the client is told which questions are void."""
        talk = self._talks.pop(call, None)
        if talk is None:
            return []
        commands: list[Command] = [ClearTimer(talk.deadline), ClearTimer(talk.pause_over)]
        for request_id in talk.waiting:
            del self._asked[request_id]
            named = {"requestId": msgspec.Raw(request_id)}
            commands.append(Emit(messages.notification(CANCELLED, named)))
        return commands

    def farewell(self) -> list[Command]:
        """Let all calls go; one that is still open begins anew at whatever server comes next."""
        commands: list[Command] = []
        for call, talk in tuple(self._talks.items()):
            commands += self.forget(call)
            if self._inflight.may_repeat(call):
                self._inflight.repeat(call, talk.original)
            else:
                commands += self._inflight.fail(call, _REPLACED)
        return commands
