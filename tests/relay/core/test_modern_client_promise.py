"""The core's promise to a 2026-07-28 client of a legacy server, whatever both of them do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.core.events import Failure, TimerFired, TimerId
from tests.relay.core.old_server import OldServer, envelope, on_old_server
from tests.relay.core.rig import PREFIX, Json, Rig, Sent, error

LISTEN = "subscriptions/listen"
METHODS = ["tools/call", "tools/call", "tools/call", "resources/read", "tools/list", LISTEN]
CAPABILITIES: list[Json] = [
    {"elicitation": {"form": {}, "url": {}}, "roots": {}},
    {"elicitation": {}, "sampling": {}},
    {},
]
QUESTIONS = ["elicitation/create", "elicitation/create", "roots/list", "sampling/createMessage"]
SERVER_STEPS = ["ask", "ask", "ask", "tell", "withdraw", "answer", "answer"]
SERVER_STEPS += ["url", "error", "refuse", "break", "back"]
STEPS = ["begin", "retry", "retry", "cancel", "clock", *["serve"] * 5]

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Client:
    """Begins requests, takes them up again rightly or wrongly, and counts what it is told."""

    def __init__(self, rig: Rig, draw: Draw) -> None:
        self._rig = rig
        self._draw = draw
        self._asked: list[tuple[str, Json]] = []  # method and params of each request, by its id
        self._wanted: list[tuple[int, Json]] = []  # what ended with questions
        self.cancelled: set[int] = set()
        self.answers: Counter[int] = Counter()

    @property
    def expected(self) -> dict[int, int]:
        return {n: int(n not in self.cancelled) for n in range(len(self._asked))}

    def _say(self, method: str, params: Json) -> None:
        self._asked.append((method, params))
        self._rig.ask(len(self._asked) - 1, method, params)

    def begin(self) -> None:
        draw = self._draw
        more: Json = {"progressToken": len(self._asked)} if draw(st.booleans()) else {}
        if draw(st.booleans()):
            more[PREFIX + "logLevel"] = draw(st.sampled_from(["debug", "error"]))
        meta = envelope(draw(st.sampled_from(CAPABILITIES)), **more)
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["x:a"]}
        params = {"name": "t", "uri": "x:a", "notifications": wanted, "_meta": meta}
        self._say(draw(st.sampled_from(METHODS)), params)

    def retry(self) -> None:
        self.read()
        if not self._wanted:
            return
        number, result = self._draw(st.sampled_from(self._wanted))
        method, params = self._asked[number]
        action = self._draw(st.sampled_from(["accept", "accept", "decline", "nothing"]))
        responses = {key: {"action": action, "roots": []} for key in result["inputRequests"]}
        if action == "nothing":
            responses.popitem()
        state = result["requestState"] + self._draw(st.sampled_from(["", "", "", "x"]))
        self._say(method, {**params, "inputResponses": responses, "requestState": state})

    def cancel(self) -> None:
        self.read()
        pending = [n for n in range(len(self._asked)) if not self.answers[n]]
        if pending:
            number = self._draw(st.sampled_from(pending))
            self._rig.cancel(number)
            self.cancelled.add(number)

    def cancel_listens(self) -> None:
        self.read()
        for number, (method, _) in enumerate(self._asked):
            if method == LISTEN and not self.answers[number]:
                self._rig.cancel(number)
                self.cancelled.add(number)

    def read(self) -> None:
        for message in self._rig.told():
            assert "id" in message or "method" in message
            assert not ("id" in message and "method" in message), "2026-07-28 has no such requests"
            if message.get("method") == "notifications/cancelled":
                self.answers[message["params"]["requestId"]] += 1
            elif "method" not in message:
                self.answers[message["id"]] += 1
                if message.get("result", {}).get("resultType") == "input_required":
                    assert message["result"]["inputRequests"]
                    self._wanted.append((message["id"], message["result"]))


class Server:
    """Does what is drawn in each of its calls, and counts the answers to its questions."""

    def __init__(self, rig: Rig, server: OldServer, draw: Draw) -> None:
        self._rig = rig
        self._server = server
        self._draw = draw
        self._open: list[Sent] = []
        self._questions = 0
        self.answers: Counter[str] = Counter()

    def take(self) -> None:
        for sent in self._server.take():
            if "method" not in sent.body:
                self.answers[sent.body["id"]] += 1
            elif "id" in sent.body:
                self._open.append(sent)
        gone = self._rig.aborted
        self._open = [sent for sent in self._open if sent.exchange not in gone]

    def step(self) -> None:
        self.take()
        if self._open:
            sent = self._draw(st.sampled_from(self._open))
            self._act(sent, self._draw(st.sampled_from(SERVER_STEPS)))

    def _act(self, sent: Sent, step: str) -> None:
        server, rig = self._server, self._rig
        match step:
            case "ask":
                self._questions += 1
                params = {"message": "?", "requestedSchema": {}}
                method = self._draw(st.sampled_from(QUESTIONS))
                server.ask(sent, f"q{self._questions}", method, params)
            case "tell":
                token = sent.body["params"].get("_meta", {}).get("progressToken")
                server.tell(sent, "notifications/progress", {"progressToken": token})
                server.tell(sent, "notifications/message", {"level": "info", "data": 1})
                server.tell(sent, "notifications/tools/list_changed")
            case "withdraw":
                server.tell(sent, "notifications/cancelled", {"requestId": f"q{self._questions}"})
            case "back":
                server.tell(sent, "notifications/elicitation/complete", {"elicitationId": "e"})
            case "answer" | "error" | "url":
                self._end(sent, step)
            case "break":
                self._open.remove(sent)
                rig.fail(sent, Failure.CLOSED, may_have_executed=True)
            case _ if not server.begun(sent):
                self._open.remove(sent)
                rig.reply(sent, status=self._draw(st.sampled_from([404, 500, 401])), headers={})
            case _:
                pass

    def _end(self, sent: Sent, step: str) -> None:
        self._open.remove(sent)
        url = {"mode": "url", "url": "x:y", "elicitationId": "e"}
        bodies: dict[str, Json] = {
            "answer": {"id": sent.body["id"], "result": {"content": [], "tools": []}},
            "error": error(sent.body["id"], -32002),
            "url": error(sent.body["id"], -32042, data={"elicitations": [url]}),
        }
        self._server.end_with(sent, {"jsonrpc": "2.0", **bodies[step]})

    def finish(self) -> None:
        """Break off whatever is open, and let every timer run out."""
        self._server.has_streams = False
        for standing in self._server.standing:
            if standing.exchange not in self._rig.aborted:
                self._rig.end(standing)
        self._server.standing.clear()
        for _ in range(60):
            self.take()
            for sent in self._open:
                self._rig.fail(sent, Failure.CLOSED, may_have_executed=True)
            self._open.clear()
            for timer in sorted(self._rig.timers):
                if self._rig.timers.pop(timer, None) is not None:
                    self._rig.feed(TimerFired(timer))
            if not (self._rig.sent or self._rig.timers):
                return
        pytest.fail("the relay asks without end")


def conversation(draw: Draw) -> tuple[Rig, Client, Server]:
    """Up to sixty steps of client, server and clock, in any order."""
    rig, old_server = on_old_server(merge_pages=draw(st.booleans()))
    client, server = Client(rig, draw), Server(rig, old_server, draw)
    for step in draw(st.lists(st.sampled_from(STEPS), max_size=60)):
        match step:
            case "begin":
                client.begin()
            case "retry":
                client.retry()
            case "cancel":
                client.cancel()
            case "serve":
                server.step()
            case _ if rig.timers:
                timer: TimerId = draw(st.sampled_from(sorted(rig.timers)))
                del rig.timers[timer]
                rig.feed(TimerFired(timer))
            case _:
                pass
    return rig, client, server


@pytest.mark.obligation(17, 22)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_each_request_is_answered_once_or_never_if_cancelled(data: st.DataObject) -> None:
    _, client, server = conversation(data.draw)
    client.cancel_listens()
    server.finish()
    client.read()
    server.finish()
    assert {n: client.answers[n] for n in client.expected} == client.expected
    assert set(client.answers) <= set(client.expected)
    assert all(times == 1 for times in server.answers.values())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_signal_at_any_moment_leaves_nothing_unanswered(data: st.DataObject) -> None:
    rig, client, server = conversation(data.draw)
    rig.terminate()
    server.finish()
    client.read()
    assert {n: client.answers[n] for n in client.expected} == client.expected
    assert rig.exit_code == 0
