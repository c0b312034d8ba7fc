"""The core's promise where a server loses sessions: in any order of losses, answers and patience.

Each request is answered exactly once, or never if it was cancelled; no tool runs twice; nothing
is sent to a session that is known to be lost; and one new session is asked for at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.core.commands import Verb
from relay.core.events import Failure
from relay.core.session import ProtocolEra
from tests.relay.core.losing import SESSION
from tests.relay.core.rig import (
    INITIALIZED,
    INTRODUCTION,
    JSON,
    STREAM,
    Json,
    Rig,
    Sent,
    error,
    notification,
    result,
    started,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

METHODS = ["tools/call", "tools/call", "tools/list", "resources/subscribe", "logging/setLevel"]
REFUSALS: list[tuple[int, Json | bytes]] = [
    (404, b""),
    (404, error(None, -32600, "Session not found")),
    (400, error(None, -32000, "Bad Request: No valid session ID provided")),
    (400, b"unknown session"),
    (200, error(None, -32600, "session expired")),
]


class ForgetfulServer:
    """Knows one session at most, and refuses whatever does not belong to it."""

    def __init__(self, rig: Rig, draw: Draw) -> None:
        self._rig = rig
        self._draw = draw
        self._sessions = 0
        self._session: str | None = None
        self.open: list[Sent] = []
        self.executed: Counter[object] = Counter()

    def take(self) -> None:
        self.open += self._rig.got()
        handshakes = [sent for sent in self.open if sent.method == "initialize"]
        assert len(handshakes) <= 2, "the relay's own, and the client's"

    def forget(self) -> None:
        self._session = None

    def serve(self) -> None:
        """Deal with one of the requests that are open, whichever."""
        self.take()
        if self.open:
            self._answer(self.open.pop(self._draw(st.integers(0, len(self.open) - 1))))

    def _answer(self, sent: Sent) -> None:
        if sent.exchange in self._rig.aborted:
            return
        if sent.verb is Verb.DELETE or sent.verb is Verb.GET:
            self._rig.reply(sent, status=self._draw(st.sampled_from([405, 404])), headers={})
        elif sent.method == "initialize":
            self._introduce(sent)
        elif self._session is None or sent.headers.get(SESSION) != self._session:
            status, body = self._draw(st.sampled_from(REFUSALS))
            self._rig.reply(sent, body, status)
        elif "id" not in sent.body or "method" not in sent.body:
            self._rig.reply(sent, status=202, headers={})
        else:
            self._execute(sent)

    def _introduce(self, sent: Sent) -> None:
        match self._draw(st.sampled_from(["yes", "yes", "yes", "refused", "broken"])):
            case "yes":
                self._sessions += 1
                self._session = f"s{self._sessions}"
                headers = {**JSON, "mcp-session-id": self._session}
                self._rig.reply(sent, result(sent.body["id"], INITIALIZED), headers=headers)
            case "refused":
                self._rig.reply(sent, error(None, -32603, "full"), 500)
            case _:
                self._rig.fail(sent, Failure.CONNECT)

    def _execute(self, sent: Sent) -> None:
        if sent.method == "tools/call":
            self.executed[sent.body["id"]] += 1
        match self._draw(st.sampled_from(["result", "result", "error", "question", "broken"])):
            case "result":
                self._rig.succeed(sent, {})
            case "error":
                self._rig.reply(sent, error(sent.body["id"], -32000, "session of the bus closed"))
            case "question":
                self._rig.head(sent, 200, STREAM)
                self._rig.body(sent, {"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
                self._rig.body(sent, result(sent.body["id"], {}))
            case _:
                self._rig.fail(sent, Failure.CLOSED, may_have_executed=True)

    def finish(self) -> None:
        for _ in range(200):
            self.take()
            while self.open:
                self._answer(self.open.pop())
                self.take()
            if not self._rig.timers:
                return
            self._rig.fire(min(self._rig.timers))
        pytest.fail("the relay asks without end")


class Client:
    """Asks, changes its mind, starts over, and keeps account of its answers."""

    def __init__(self, rig: Rig, draw: Draw) -> None:
        self._rig = rig
        self._draw = draw
        self.asked = 0
        self.cancelled: set[int] = set()
        self.handshakes: set[int] = set()
        self.answers: Counter[int] = Counter()

    def ask(self, method: str | None = None) -> None:
        method = method or self._draw(st.sampled_from(METHODS))
        if method == "initialize":
            self.handshakes.add(self.asked)
        self._rig.ask(self.asked, method, {"uri": "a:1", "level": "info", **INTRODUCTION})
        self.asked += 1

    def notify(self) -> None:
        self._rig.say(notification("notifications/roots/list_changed"))

    def cancel(self) -> None:
        self.read()
        pending = [n for n in range(self.asked) if not self.answers[n]]
        if pending:
            number = self._draw(st.sampled_from(pending))
            self._rig.cancel(number)
            if number not in self.handshakes:
                self.cancelled.add(number)

    def read(self) -> None:
        for message in self._rig.told():
            if "method" not in message:
                self.answers[message["id"]] += 1
            elif "id" in message and self._draw(st.booleans()):
                self._rig.say(result(message["id"], {"roots": []}))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.obligation(27, 31)
def test_each_request_is_answered_once_whatever_sessions_are_lost(data: st.DataObject) -> None:
    rig = started(ProtocolEra.LEGACY)
    client, server = Client(rig, data.draw), ForgetfulServer(rig, data.draw)
    client.ask("initialize")
    rig.say(notification("notifications/initialized"))
    weighted = {"ask": 4, "serve": 10, "forget": 2, "cancel": 1, "read": 1, "notify": 1}
    actions = [name for name, weight in weighted.items() for _ in range(weight)]
    for action in data.draw(st.lists(st.sampled_from([*actions, "again", "clock"]), max_size=60)):
        match action:
            case "ask":
                client.ask()
            case "again":
                client.ask("initialize")
            case "serve":
                server.serve()
            case "forget":
                server.forget()
            case "cancel":
                client.cancel()
            case "notify":
                client.notify()
            case "clock" if rig.timers:
                rig.fire(data.draw(st.sampled_from(sorted(rig.timers))))
            case _:
                client.read()
    server.finish()
    client.read()
    server.finish()
    client.read()
    expected = {n: int(n not in client.cancelled) for n in range(client.asked)}
    assert {n: client.answers[n] for n in expected} == expected
    assert set(client.answers) <= set(expected)
    assert all(times == 1 for times in server.executed.values())
