"""The promise, with a server that asks back: one answer a call, and no question without its call.

Client and server do whatever they like in the rounds; a question that is open belongs to a call
that is open, and the client is told of each one that becomes void.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from relay.core.events import Failure, TimerFired
from tests.relay.core.asking import EVERYTHING, client
from tests.relay.core.rig import DISCOVERED, PREFIX, Json, Sent, error, result

METHODS = ["tools/call", "prompts/get", "resources/read", "prompts/list"]
ASKED = [
    "elicitation/create",
    "elicitation/create",
    "sampling/createMessage",
    "roots/list",
    "tools/call",  # no question at all
]
REPLIES = [*["questions"] * 6, "nothing to ask", "result", "error", "unknown", "broken", "refused"]


class Conversation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.rig = client({**EVERYTHING, "elicitation": {"form": {}}})
        self.legs: list[Sent] = []
        self.calls: list[int] = []
        self.cancelled: set[int] = set()
        self.answers: Counter[int] = Counter()
        self.open: dict[str, int] = {}  # questions, with the calls they are for
        self.closed: list[str] = []
        self.signal = False

    def is_open(self, call: int) -> bool:
        return call not in self.cancelled and not self.answers[call]

    def absorb(self) -> None:
        """Take note of what client and server have been sent."""
        self.legs += [sent for sent in self.rig.got() if sent.method != "subscriptions/listen"]
        for message in self.rig.told():
            if "method" not in message:
                self.answers[message["id"]] += 1
            elif "id" in message:
                assert message["id"] not in [*self.open, *self.closed]
                self.open[message["id"]] = message["params"]["call"]
            else:
                assert message["method"] == "notifications/cancelled"
                self.close(message["params"]["requestId"])

    def close(self, question: str) -> None:
        del self.open[question]
        self.closed.append(question)

    # -- what can happen --

    @initialize(signal=st.booleans())
    def choose_an_end(self, signal: bool) -> None:
        self.signal = signal

    @rule(method=st.sampled_from(METHODS))
    def call(self, method: str) -> None:
        number = len(self.calls)
        self.calls.append(number)
        self.rig.ask(number, method, {"name": "t", "uri": "x:y", "_meta": {"n": number}})
        self.absorb()

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(self.calls))
        if self.is_open(number):
            self.cancelled.add(number)
        self.rig.cancel(number)
        self.absorb()

    @precondition(lambda self: self.legs)
    @rule(data=st.data(), reply=st.sampled_from(REPLIES))
    def serve(self, data: st.DataObject, reply: str) -> None:
        leg = data.draw(st.sampled_from(self.legs))
        self.legs.remove(leg)
        if leg.exchange in self.rig.aborted:
            return
        if leg.method == "server/discover":
            self.rig.succeed(leg, DISCOVERED)
        elif reply == "questions":
            asked = data.draw(st.lists(st.sampled_from(ASKED), max_size=3))
            self.want(leg, asked, data.draw(st.sampled_from([None, "state"])))
        else:
            self.answer_leg(leg, reply)
        self.absorb()

    def want(self, leg: Sent, asked: list[str], state: Any) -> None:
        call = leg.body["params"]["_meta"].get("n")  # the relay's own listing is nobody's
        requests = {
            f"q{number}": {"method": method, "params": {"call": call}}
            for number, method in enumerate(asked)
        }
        value: Json = {"resultType": "input_required", "inputRequests": requests}
        self.rig.succeed(leg, value if state is None else {**value, "requestState": state})

    def answer_leg(self, leg: Sent, reply: str) -> None:
        replies: dict[str, Any] = {
            "nothing to ask": result(leg.body["id"], {"resultType": "input_required"}),
            "result": result(leg.body["id"], {"_meta": {PREFIX + "serverInfo": {}}}),
            "error": error(leg.body["id"], -32602),
            "unknown": result(leg.body["id"], {"resultType": "riddle"}),
        }
        if reply == "broken":
            self.rig.fail(leg, Failure.CLOSED, may_have_executed=True)
        elif reply == "refused":
            self.rig.reply(leg, status=404)
        else:
            self.rig.reply(leg, replies[reply])

    @precondition(lambda self: self.open or self.closed)
    @rule(data=st.data(), refuse=st.integers(0, 4))
    def respond(self, data: st.DataObject, refuse: int) -> None:
        """Answer a question, which may have been answered or voided before."""
        question = data.draw(st.sampled_from([*self.open, *self.closed[-5:]]))
        self.reply_to(question, refuse=not refuse)

    def reply_to(self, question: str, *, refuse: bool) -> None:
        if question in self.open:
            self.close(question)
        self.rig.say(error(question, -1) if refuse else result(question, {"action": "decline"}))
        self.absorb()

    @precondition(lambda self: self.rig.timers)
    @rule(data=st.data())
    def wait(self, data: st.DataObject) -> None:
        self.run_out(data.draw(st.sampled_from(sorted(self.rig.timers))))

    def run_out(self, timer: Any) -> None:
        if self.rig.timers.pop(timer, None) is not None:
            self.rig.feed(TimerFired(timer))
        self.absorb()

    # -- what holds --

    @invariant()
    def an_open_question_has_an_open_call(self) -> None:
        assert all(self.is_open(call) for call in self.open.values())

    @invariant()
    def no_call_is_answered_twice_or_after_its_cancellation(self) -> None:
        assert all(
            count == 1 and call in self.calls and call not in self.cancelled
            for call, count in self.answers.items()
            if count
        )

    def teardown(self) -> None:
        if self.signal:
            self.rig.terminate()
            self.absorb()
        for _ in range(50):
            if not (self.legs or self.open or any(map(self.is_open, self.calls))):
                break
            self.settle()
        assert not self.open
        assert not [call for call in self.calls if self.is_open(call)]
        assert not [timer for timer in self.rig.timers if timer.startswith(("rounds", "pause"))]
        self.rig.terminate()
        assert self.rig.exit_code == 0

    def settle(self) -> None:
        """Let all that is open come to its end."""
        for question in [*self.open]:
            self.reply_to(question, refuse=True)
        legs, self.legs = self.legs, []
        for leg in legs:
            if leg.exchange not in self.rig.aborted:
                self.rig.fail(leg, Failure.CLOSED, may_have_executed=True)
        self.absorb()
        for timer in sorted(self.rig.timers):
            self.run_out(timer)


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
