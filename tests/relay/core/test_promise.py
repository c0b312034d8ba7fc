"""The core's promise: each request is answered exactly once, or never if it was cancelled.

A session is driven through arbitrary conversations of one client with a server that may do
anything HTTP allows. The rig checks each line out: one line, one JSON-RPC object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.core.events import Failure, ServerSent, TimerFired
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    DISCOVERED,
    ENVELOPE,
    INTRODUCTION,
    Rig,
    Sent,
    error,
    notification,
    result,
    started,
)

STATUSES = [*[200] * 10, 202, 204, 302, 400, 401, 403, 404, 405, 413, 429, 500, 503]
STREAM = "Text/Event-Stream; charset=utf-8"
TYPES = ["application/json", "application/json", STREAM, STREAM, STREAM, "text/html", ""]
LISTEN = "subscriptions/listen"
METHODS = ["tools/call", "tools/list", "ping", LISTEN, LISTEN, "initialize", "vendor/x"]
METHODS += [
    "notifications/cancelled",
    "notifications/initialized",
]  # requests in spite of their names
BODIES = [
    "result",
    "pretty result",
    "input required",
    "error",
    "null id error",
    "wrong id",
    "id of another type",
    "twice",
    "batch",
    "notification",
    "question",
    "html",
    "broken",
    "empty",
    "bad utf-8",
]
ENDS = ["end", "fail", "stay open"]


def body_of(kind: str, request_id: Any) -> bytes:
    answer = result(request_id, {"tools": [], "content": [], "text": "\u2028\n", **DISCOVERED})
    encoded = msgspec.json.encode(answer)
    note = msgspec.json.encode(notification("notifications/message", {"text": "\u2029"}))
    other = result("other", {})
    bodies: dict[str, bytes] = {
        "result": encoded,
        "pretty result": msgspec.json.format(encoded, indent=2).replace(b"\n", b"\r\n"),
        "input required": msgspec.json.encode(result(request_id, {"resultType": "input_required"})),
        "error": msgspec.json.encode(error(request_id, -32602)),
        "null id error": msgspec.json.encode(error(None, -32600)),
        "wrong id": msgspec.json.encode(other),
        "id of another type": msgspec.json.encode(result(str(request_id), {})),
        "twice": b"[" + encoded + b",\n" + encoded + b"]",
        "batch": b"[" + note + b"," + encoded + b"]",
        "notification": note,
        "question": b'{"jsonrpc":"2.0","id":0,"method":"roots/list"}',
        "html": b"<html>\n<body>502</body></html>",
        "broken": encoded[:-1],
        "empty": b"",
        "bad utf-8": encoded.replace(b"tools", b"\xff"),
    }
    return bodies[kind]


Draw = Callable[[st.SearchStrategy[Any]], Any]


class Server:
    """Answers each request as it is drawn, event by event."""

    def __init__(self, rig: Rig, draw: Draw) -> None:
        self._rig = rig
        self._draw = draw
        self._open: list[tuple[Sent, list[str]]] = []

    def settle_era(self) -> None:
        """Answer the probe, if there is one, so that the conversation gets further."""
        for probe in self._rig.got():
            if self._draw(st.booleans()):
                self._rig.succeed(probe, DISCOVERED)
            else:
                self._rig.reply(probe, status=404)

    def take(self) -> None:
        for sent in self._rig.got():
            steps = ["head"]
            steps += [
                f"body {kind}" for kind in self._draw(st.lists(st.sampled_from(BODIES), max_size=3))
            ]
            self._open.append((sent, [*steps, self._draw(st.sampled_from(ENDS))]))

    def step(self) -> None:
        if not self._open:
            return
        index = self._draw(st.integers(0, len(self._open) - 1))
        sent, steps = self._open[index]
        if sent.exchange in self._rig.aborted or not steps:
            del self._open[index]
            return
        self._act(sent, steps.pop(0), steps)

    def _act(self, sent: Sent, action: str, steps: list[str]) -> None:
        match action.partition(" "):
            case ("head", _, _) if self._draw(st.booleans()) or steps[-1] != "fail":
                status = self._draw(st.sampled_from(STATUSES))
                content_type = self._draw(st.sampled_from(TYPES))
                headers = {"content-type": content_type, "mcp-session-id": "s"}
                self._rig.head(sent, status, headers if content_type else {})
            case ("head", _, _):
                del steps[:-1]  # it breaks off before its head
            case ("body", _, kind):
                event = self._draw(st.sampled_from(["message", "message", "message", "other"]))
                data = body_of(kind, sent.body.get("id") if sent.raw else None)
                self._rig.feed(ServerSent(sent.exchange, data, event))
            case ("end", _, _):
                self._rig.end(sent)
            case ("fail", _, _):
                failure = self._draw(st.sampled_from(list(Failure)))
                self._rig.fail(sent, failure, may_have_executed=True)
            case _:
                steps.append("end" if self._draw(st.booleans()) else "stay open")

    def finish(self) -> None:
        """Break off whatever is still open, and let every timer run out."""
        for _ in range(50):
            self.take()
            for sent, _ in self._open:
                if sent.exchange not in self._rig.aborted:
                    self._rig.fail(sent, Failure.CLOSED)
            self._open.clear()
            for timer in sorted(self._rig.timers):
                if self._rig.timers.pop(timer, None) is not None:
                    self._rig.feed(TimerFired(timer))
            if not (self._rig.sent or self._rig.timers):
                return
        pytest.fail("the relay asks without end")


class Client:
    """Sends drawn requests and cancellations, and keeps account of both."""

    def __init__(self, rig: Rig, draw: Draw) -> None:
        self._rig = rig
        self._draw = draw
        self.methods: list[str] = []
        self.cancelled: set[int] = set()
        self.answers: Counter[int] = Counter()

    def ask(self) -> None:
        params: dict[str, Any] = {"name": "t", "uri": "x:y", **INTRODUCTION}
        if self._draw(st.booleans()):
            params["_meta"] = ENVELOPE
        self.methods.append(self._draw(st.sampled_from(METHODS)))
        self._rig.ask(len(self.methods) - 1, self.methods[-1], params)

    def cancel(self) -> None:
        self.read()
        pending = [n for n in range(len(self.methods)) if not self.answers[n]]
        if pending:
            number = self._draw(st.sampled_from(pending))
            self._rig.cancel(number)
            if self.methods[number] != "initialize":  # which cannot be cancelled
                self.cancelled.add(number)

    def read(self) -> None:
        for message in self._rig.told():
            if message.get("method") == "notifications/cancelled":
                # a lost subscription is told in this way instead of by a response
                self.answers[message["params"]["requestId"]] += 1
            elif "method" not in message:
                self.answers[message["id"]] += 1
            elif "id" in message:
                self._rig.say(result(message["id"], {"roots": []}))

    def expected(self) -> dict[int, int]:
        return {n: int(n not in self.cancelled) for n in range(len(self.methods))}


def conversation(draw: Draw, era: ProtocolEra) -> tuple[Rig, Client, Server]:
    """Up to forty steps of client, server and clock, in any order."""
    rig = started(era)
    client, server = Client(rig, draw), Server(rig, draw)
    if draw(st.booleans()):
        server.settle_era()
    for action in draw(
        st.lists(st.sampled_from(["ask", "cancel", *["serve"] * 4, "clock"]), max_size=40)
    ):
        match action:
            case "ask":
                client.ask()
            case "cancel":
                client.cancel()
            case "serve":
                server.take()
                server.step()
            case _ if rig.timers:
                rig.fire(draw(st.sampled_from(sorted(rig.timers))))
            case _:
                pass
    return rig, client, server


@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), era=st.sampled_from(list(ProtocolEra)))
def test_each_request_is_answered_once_or_never_if_cancelled(
    data: st.DataObject, era: ProtocolEra
) -> None:
    _, client, server = conversation(data.draw, era)
    server.finish()
    client.read()
    server.finish()
    assert {n: client.answers[n] for n in client.expected()} == client.expected()
    assert set(client.answers) <= set(client.expected())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), era=st.sampled_from(list(ProtocolEra)))
def test_a_signal_at_any_moment_leaves_nothing_unanswered(
    data: st.DataObject, era: ProtocolEra
) -> None:
    rig, client, server = conversation(data.draw, era)
    rig.terminate()
    server.finish()
    client.read()
    assert {n: client.answers[n] for n in client.expected()} == client.expected()
    assert rig.exit_code == 0


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), era=st.sampled_from(list(ProtocolEra)))
def test_a_client_that_leaves_at_any_moment_lets_the_relay_stop(
    data: st.DataObject, era: ProtocolEra
) -> None:
    rig, client, server = conversation(data.draw, era)
    rig.close()
    server.finish()
    client.read()
    assert rig.exit_code == 0
    assert all(client.answers[n] <= most for n, most in client.expected().items())
