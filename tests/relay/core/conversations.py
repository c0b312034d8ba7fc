"""Arbitrary conversations of one client with a server that may do anything HTTP allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from relay.core.commands import Verb
from relay.core.events import Failure, ServerSent
from relay.core.options import ProtocolEra, Transport
from tests.relay.core.rig import (
    DISCOVERED,
    ENVELOPE,
    INITIALIZED,
    INTRODUCTION,
    PREFIX,
    Json,
    Rig,
    Sent,
    error,
    notification,
    result,
    started,
)

STATUSES = [*[200] * 10, 202, 204, 302, 400, 401, 403, 404, 404, 405, 413, 429, 500, 503]
STREAM = "Text/Event-Stream; charset=utf-8"
TYPES = ["application/json", "application/json", STREAM, STREAM, STREAM, "text/html", ""]
LISTEN = "subscriptions/listen"
METHODS = ["tools/call", "tools/call", "tools/list", "ping", "initialize", "vendor/x"]
METHODS += ["resources/subscribe", "resources/read", "logging/setLevel", "server/discover", LISTEN]
METHODS += ["notifications/cancelled", "notifications/initialized"]  # requests in spite of it
BODIES = [
    "result",
    "pretty result",
    "input required",
    "input required of the client",
    "session lost",
    "error",
    "null id error",
    "modern refusal",
    "legacy refusal",
    "wrong id",
    "id of another type",
    "twice",
    "batch",
    "notification",
    "question",
    "elicitation",
    "acknowledged",
    "html",
    "broken",
    "empty",
    "bad utf-8",
]
ELICITATION: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object"}},
}
ENDS = ["end", "fail", "stay open"]


def acknowledgement(request_id: Any) -> Json:
    named = {PREFIX + "subscriptionId": request_id}
    honoured = {"toolsListChanged": True, "resourceSubscriptions": ["x:y"]}
    return notification(
        "notifications/subscriptions/acknowledged", {"_meta": named, "notifications": honoured}
    )


def body_of(kind: str, request_id: Any) -> bytes:
    answer = result(request_id, {"tools": [], "content": [], "text": "\u2028\n", **DISCOVERED})
    encoded = msgspec.json.encode(answer)
    note = msgspec.json.encode(notification("notifications/message", {"text": "\u2029"}))
    other = result("other", {})
    bodies: dict[str, bytes] = {
        "result": encoded,
        "pretty result": msgspec.json.format(encoded, indent=2).replace(b"\n", b"\r\n"),
        "input required": msgspec.json.encode(result(request_id, {"resultType": "input_required"})),
        "input required of the client": msgspec.json.encode(
            result(
                request_id,
                {
                    "resultType": "input_required",
                    "inputRequests": {"a": {"method": "roots/list"}, "b": ELICITATION},
                    "requestState": "\u2028state",
                },
            )
        ),
        "session lost": msgspec.json.encode(error(None, -32600, "Session not found")),
        "error": msgspec.json.encode(error(request_id, -32602)),
        "null id error": msgspec.json.encode(error(None, -32600)),
        "modern refusal": msgspec.json.encode(error(request_id, -32020)),
        "legacy refusal": msgspec.json.encode(error(None, -32000)),
        "wrong id": msgspec.json.encode(other),
        "id of another type": msgspec.json.encode(result(str(request_id), {})),
        "twice": b"[" + encoded + b",\n" + encoded + b"]",
        "batch": b"[" + note + b"," + encoded + b"]",
        "notification": note,
        "question": b'{"jsonrpc":"2.0","id":"r","method":"roots/list"}',
        "elicitation": msgspec.json.encode({"jsonrpc": "2.0", "id": "q", **ELICITATION}),
        "acknowledged": msgspec.json.encode(acknowledgement(request_id)),
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
        self._ids: list[Any] = []
        self._begun: list[Sent] = []  # that have a head already

    def settle_era(self) -> None:
        """Answer the probe, if there is one, so that the conversation gets further."""
        for probe in self._rig.got():
            if self._draw(st.booleans()):
                self._rig.succeed(probe, DISCOVERED)
            else:
                self._rig.reply(probe, status=404)

    def keep(self, streams: list[Sent]) -> None:
        """Take over streams that are open already."""
        for sent in streams:
            kinds = self._draw(st.lists(st.sampled_from(BODIES), max_size=3))
            steps = [*(f"body {kind}" for kind in kinds), self._draw(st.sampled_from(ENDS))]
            self._open.append((sent, steps))
            self._begun.append(sent)

    def take(self) -> None:
        for sent in self._rig.got():
            if sent.raw and "id" in sent.body:
                self._ids.append(sent.body["id"])
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
                if self._draw(st.booleans()):
                    headers["retry-after"] = self._draw(st.sampled_from(["0", "1", "600", "x"]))
                self._rig.head(sent, status, headers if content_type else {})
            case ("head", _, _):
                del steps[:-1]  # it breaks off before its head
            case ("body", _, kind):
                event = self._draw(st.sampled_from(["message", "message", "message", "endpoint"]))
                event_id = self._draw(st.sampled_from([None, None, "7"]))
                data = body_of(kind, sent.body.get("id") if sent.raw else self._some_id())
                self._rig.feed(ServerSent(sent.exchange, data, event, event_id, 10))
            case ("end", _, _):
                self._rig.end(sent)
            case ("fail", _, _):
                failure = self._draw(st.sampled_from(list(Failure)))
                self._rig.fail(sent, failure, may_have_executed=True)
            case _:
                steps.append("end" if self._draw(st.booleans()) else "stay open")

    def _some_id(self) -> Any:
        """What a stream of answers to other requests may answer."""
        return self._draw(st.sampled_from(self._ids)) if self._ids else None

    def finish(self) -> None:
        """Break off whatever is still open, and let every timer run out.

        What the relay keeps up for as long as the server lets it is refused for good.
        """
        for _ in range(60):
            self.take()
            for sent, _ in self._open:
                if sent.exchange in self._rig.aborted:
                    continue
                if sent in self._begun:
                    self._rig.end(sent)
                elif sent.verb is Verb.GET or sent.method == LISTEN:
                    self._rig.reply(sent, status=405)
                else:
                    self._rig.fail(sent, Failure.CLOSED)
            self._open.clear()
            for timer in sorted(self._rig.timers):
                if timer in self._rig.timers:
                    self._rig.run_out(timer)
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
        self._questions: set[Any] = set()
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
        while self._rig.emitted:  # what is read here may be answered, and that at once
            for message in self._rig.told():
                self._hear(message)

    def _hear(self, message: Json) -> None:
        if message.get("method") == "notifications/cancelled":
            named = message["params"]["requestId"]
            if named not in self._questions:
                # a lost subscription is told in this way instead of by a response
                self.answers[named] += 1
        elif "method" not in message:
            self.answers[message["id"]] += 1
        elif "id" in message:
            self._questions.add(message["id"])
            self._reply(message["id"])

    def _reply(self, question: Any) -> None:
        match self._draw(st.sampled_from(["result", "result", "error", "nothing"])):
            case "result":
                self._rig.say(result(question, {"action": "accept", "roots": []}))
            case "error":
                self._rig.say(error(question, -32603))
            case _:
                pass

    def expected(self) -> dict[int, int]:
        return {n: int(n not in self.cancelled) for n in range(len(self.methods))}


class Host:
    """A server without faults, for the beginning of a conversation."""

    def __init__(self, rig: Rig, *, modern: bool) -> None:
        self._rig = rig
        self._modern = modern
        self._stream: Sent | None = None  # the one stream of HTTP+SSE
        self.streams: list[Sent] = []  # all that are left open

    def welcome(self) -> None:
        """Take a client through its handshake."""
        self._serve()
        self._rig.ask("init", "initialize", INTRODUCTION)
        self._serve()
        self._rig.say(notification("notifications/initialized"))
        self._serve()
        self._rig.told()

    def _serve(self) -> None:
        while self._rig.sent:
            for sent in self._rig.got():
                self._answer(sent)

    def _answer(self, sent: Sent) -> None:
        match sent.method:
            case "GET":
                self.streams.append(sent)
                self._rig.head(sent, headers={"content-type": STREAM})
                if "Mcp-Session-Id" not in sent.headers:
                    self._stream = sent
                    self._rig.feed(ServerSent(sent.exchange, b"/messages", "endpoint"))
            case "server/discover" if not self._modern:
                self._rig.reply(sent, error(sent.body["id"], -32601), status=400)
            case "server/discover":
                self._rig.succeed(sent, DISCOVERED)
            case "subscriptions/listen":
                self.streams.append(sent)
                self._rig.head(sent, headers={"content-type": STREAM})
                self._rig.body(sent, acknowledgement(sent.body["id"]))
            case "initialize" if self._stream is not None:
                self._rig.reply(sent, status=202)
                self._rig.body(self._stream, result(sent.body["id"], INITIALIZED))
            case "initialize":
                headers = {"content-type": "application/json", "mcp-session-id": "s"}
                self._rig.reply(sent, result(sent.body["id"], INITIALIZED), headers=headers)
            case _:
                self._rig.reply(sent, status=202)


def conversation(draw: Draw, era: ProtocolEra) -> tuple[Rig, Client, Server]:
    """Up to forty steps of client, server and clock, in any order."""
    rig = started(
        era,
        transport=draw(st.sampled_from(Transport)),
        total_timeout=draw(st.sampled_from([0, 80])),
        merge_pages=draw(st.booleans()),
        secret="s",
    )
    client, server = Client(rig, draw), Server(rig, draw)
    match draw(st.sampled_from(["welcome", "welcome", "settled", "fresh"])):
        case "welcome":
            modern = era is ProtocolEra.MODERN or (era is ProtocolEra.AUTO and draw(st.booleans()))
            host = Host(rig, modern=modern)
            host.welcome()
            server.keep(host.streams)
        case "settled":
            server.settle_era()
        case _:
            pass
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
                rig.run_out(draw(st.sampled_from(sorted(rig.timers))))
            case _:
                pass
    return rig, client, server
