"""A session with a client and a server at its ends, for tests that read like a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from relay.core.commands import (
    Abort,
    ClearTimer,
    Command,
    Emit,
    Level,
    Notice,
    Request,
    SetTimer,
    Stop,
    Verb,
)
from relay.core.events import (
    ClientClosed,
    ClientLine,
    Event,
    ExchangeId,
    Failure,
    ServerAnswered,
    ServerEnded,
    ServerFailed,
    ServerSent,
    Started,
    Terminated,
    TimerFired,
    TimerId,
)
from relay.core.session import Options, ProtocolEra, Session

Json = dict[str, Any]

JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
ENVELOPE: Json = {
    PREFIX + "protocolVersion": MODERN,
    PREFIX + "clientInfo": {"name": "modern-client", "version": "3"},
    PREFIX + "clientCapabilities": {"elicitation": {}},
}
DISCOVERED: Json = {
    "resultType": "complete",
    "supportedVersions": [MODERN],
    "capabilities": {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "logging": {},
        "completions": {},
    },
    "instructions": "drive carefully",
    "ttlMs": 0,
    "cacheScope": "private",
    "_meta": {PREFIX + "serverInfo": {"name": "truck", "version": "9"}},
}
INITIALIZED: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "old-truck", "version": "1"},
}
INTRODUCTION: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}},
    "clientInfo": {"name": "desk", "version": "2"},
}


def result(request_id: object, value: object) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: object, code: int, message: str = "no", data: object = None) -> Json:
    body: Json = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def messages_of(line: bytes) -> list[Json]:
    """The messages of a line: one, or those of a batch."""
    decoded = msgspec.json.decode(line, type=Json | list[Json])
    return decoded if isinstance(decoded, list) else [decoded]


def notification(method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


@dataclass(frozen=True)
class Sent:
    """One request that reached the server."""

    exchange: ExchangeId
    verb: Verb
    headers: dict[str, str]
    raw: bytes
    target: str = ""

    @property
    def body(self) -> Json:
        return msgspec.json.decode(self.raw, type=Json)

    @property
    def method(self) -> str:
        return str(self.body.get("method", "")) if self.raw else self.verb.value


@dataclass
class Rig:
    """Plays shell, client and server. What was read once is not read again."""

    session: Session
    sent: list[Sent] = field(default_factory=list)
    emitted: list[bytes] = field(default_factory=list)
    aborted: list[ExchangeId] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    timers: dict[TimerId, float] = field(default_factory=dict)
    exit_code: int | None = None

    # -- the shell --

    def feed(self, event: Event) -> list[Command]:
        commands = self.session.receive(event)
        assert isinstance(commands, list)
        assert self.exit_code is None or commands == [], "nothing follows Stop"
        for command in commands:
            self._carry_out(command)
        return commands

    def _carry_out(self, command: Command) -> None:
        match command:
            case Request(exchange, verb, headers, body, target):
                assert len({name.lower() for name, _ in headers}) == len(headers)
                assert all(value.isascii() and value.isprintable() for _, value in headers)
                self.sent.append(Sent(exchange, verb, dict(headers), body, target))
            case Emit(line):
                assert b"\n" not in line
                assert b"\r" not in line
                for message in messages_of(line):
                    assert message["jsonrpc"] == "2.0"
                self.emitted.append(line)
            case Abort(exchange):
                assert exchange not in self.aborted
                self.aborted.append(exchange)
            case Notice(level, text):
                assert isinstance(level, Level)
                self.notices.append(text)
            case SetTimer(timer, seconds):
                assert seconds >= 0
                self.timers[timer] = seconds
            case ClearTimer(timer):
                self.timers.pop(timer, None)
            case Stop(code):
                assert self.exit_code is None
                self.exit_code = code

    def fire(self, name: str) -> None:
        """Let the one running timer whose name begins so run out."""
        (timer,) = [timer for timer in self.timers if timer.startswith(name)]
        self.run_out(timer)

    def run_out(self, timer: TimerId) -> None:
        del self.timers[timer]
        self.feed(TimerFired(timer))

    # -- the client --

    def line(self, line: bytes) -> None:
        self.feed(ClientLine(line))

    def say(self, message: Json) -> None:
        self.line(msgspec.json.encode(message))

    def ask(self, request_id: object, method: str, params: Json | None = None) -> None:
        message: Json = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.say(message if params is None else {**message, "params": params})

    def ask_modern(self, request_id: object, method: str, params: Json | None = None) -> None:
        self.ask(request_id, method, {**(params or {}), "_meta": ENVELOPE})

    def cancel(self, request_id: object) -> None:
        self.say(notification("notifications/cancelled", {"requestId": request_id}))

    def close(self) -> None:
        self.feed(ClientClosed())

    def terminate(self) -> None:
        self.feed(Terminated("SIGTERM"))

    def told(self) -> list[Json]:
        """What the client was told since it last looked."""
        lines, self.emitted = self.emitted, []
        return [message for line in lines for message in messages_of(line)]

    def told_one(self) -> Json:
        (message,) = self.told()
        return message

    # -- the server --

    def got(self) -> list[Sent]:
        """What reached the server since it last looked."""
        sent, self.sent = self.sent, []
        return sent

    def got_one(self) -> Sent:
        (sent,) = self.got()
        return sent

    def head(self, sent: Sent, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.feed(ServerAnswered(sent.exchange, status, dict(JSON if headers is None else headers)))

    def body(self, sent: Sent, body: Json | bytes) -> None:
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        self.feed(ServerSent(sent.exchange, data))

    def end(self, sent: Sent) -> None:
        self.feed(ServerEnded(sent.exchange))

    def reply(
        self,
        sent: Sent,
        body: Json | bytes = b"",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer with one complete body."""
        self.head(sent, status, headers)
        if body:
            self.body(sent, body)
        if sent.exchange not in self.aborted:
            self.end(sent)

    def succeed(self, sent: Sent, value: object) -> None:
        """Answer with a result for the request that was sent."""
        self.reply(sent, result(sent.body["id"], value))

    def fail(self, sent: Sent, failure: Failure, *, may_have_executed: bool = False) -> None:
        self.feed(ServerFailed(sent.exchange, failure, "10.0.0.1:80", may_have_executed))

    def unreachable(self, sent: Sent) -> None:
        """Let a request fail to reach the server as often as the relay tries."""
        self.fail(sent, Failure.CONNECT)
        while any(timer.startswith("again:") for timer in self.timers):
            self.fire("again:")
            self.fail(self.got_one(), Failure.CONNECT)


def expire(rig: Rig, timer: TimerId) -> None:
    """Let just this timer run out, if it still runs."""
    if rig.timers.pop(timer, None) is not None:
        rig.feed(TimerFired(timer))


def started(era: ProtocolEra = ProtocolEra.AUTO, **options: Any) -> Rig:
    """A session that has had its first event."""
    rig = Rig(Session(Options(protocol_era=era, **options)))
    rig.feed(Started())
    return rig


def on_legacy(session: str | None = "s1") -> Rig:
    """A legacy client in a session with a legacy server."""
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    headers = JSON if session is None else {**JSON, "mcp-session-id": session}
    rig.reply(rig.got_one(), result("init", INITIALIZED), headers=headers)
    rig.say(notification("notifications/initialized"))
    rig.reply(rig.got_one(), status=202, headers={})
    rig.reply(rig.got_one(), status=405, headers={})  # the server offers no standing stream
    rig.told()
    return rig


def on_modern() -> Rig:
    """Nobody has spoken yet; the probe has found a modern server."""
    rig = started()
    rig.succeed(rig.got_one(), DISCOVERED)
    return rig


def bridged(introduction: Json | None = None) -> Rig:
    """A legacy client that has been introduced to a modern server."""
    rig = on_modern()
    rig.ask("init", "initialize", introduction or INTRODUCTION)
    rig.say(notification("notifications/initialized"))
    rig.got()  # the stream for changes of the lists
    rig.ask("list", "tools/list")
    rig.succeed(rig.got_one(), {"tools": [{"name": "t", "inputSchema": {}}]})
    rig.told()
    return rig
