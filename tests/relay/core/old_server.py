"""A legacy server that does its duty by itself, so that a test can talk of what it is about."""

from __future__ import annotations

from typing import Any

from relay.core.commands import Verb
from relay.core.events import ExchangeId
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    ENVELOPE,
    INITIALIZED,
    JSON,
    PREFIX,
    STREAM,
    Json,
    Rig,
    Sent,
    notification,
    result,
    started,
)

OFFERED: Json = {
    **INITIALIZED,
    "capabilities": {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": False},
        "resources": {"subscribe": True, "listChanged": True},
        "logging": {},
        "tasks": {"list": {}},
    },
    "instructions": "mind the gap",
}
SERVER_INFO: Json = {PREFIX + "serverInfo": {"name": "old-truck", "version": "1"}}
FORMS: Json = {"elicitation": {}}


class OldServer:
    """Answers handshakes, levels and subscriptions; what else comes in is the test's to answer."""

    def __init__(self, rig: Rig, offered: Json | None = None) -> None:
        self.rig = rig
        self.offered = OFFERED if offered is None else offered
        self.log: list[Sent] = []  # all that came
        self.standing: list[Sent] = []  # open GET streams, the newest last
        self.refused: set[str] = set()  # URIs that cannot be subscribed to
        self.has_streams = True  # standing ones
        self.sessions = 0
        self._streams: set[ExchangeId] = set()

    def take(self) -> list[Sent]:
        """What there is for the test."""
        rest: list[Sent] = []
        while self.rig.sent:
            for sent in self.rig.got():
                self.log.append(sent)
                if not self._serve(sent):
                    rest.append(sent)
        return rest

    def take_one(self) -> Sent:
        (sent,) = self.take()
        return sent

    def count(self, method: str) -> int:
        self.take()
        return sum(sent.method == method for sent in self.log)

    def _serve(self, sent: Sent) -> bool:
        """Whether it is dealt with."""
        if sent.verb is Verb.GET and self.has_streams:
            self.rig.head(sent, 200, STREAM)
            self.standing.append(sent)
        elif sent.verb is Verb.GET:
            self.rig.reply(sent, status=405, headers={})
        elif sent.verb is Verb.DELETE:
            self.rig.reply(sent, status=200, headers={})
        elif sent.method == "initialize":
            self.sessions += 1
            headers = {**JSON, "mcp-session-id": f"s{self.sessions}"}
            self.rig.reply(sent, result(sent.body["id"], self.offered), headers=headers)
        elif "id" not in sent.body or "method" not in sent.body:
            self.rig.reply(sent, status=202, headers={})
            return sent.method == "notifications/initialized"
        elif sent.method in ("logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
            self._answer_state(sent)
        else:
            return False
        return True

    def _answer_state(self, sent: Sent) -> None:
        if sent.body["params"].get("uri") in self.refused:
            code = {"code": -32601, "message": "no such method"}
            self.rig.reply(sent, {"jsonrpc": "2.0", "id": sent.body["id"], "error": code})
        else:
            self.rig.succeed(sent, {})

    # -- on the stream of a call --

    def ask(self, on: Sent, request_id: object, method: str, params: Json | None = None) -> None:
        """Ask the client something on the way to an answer."""
        self._begin(on)
        message: Json = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.rig.body(on, message if params is None else {**message, "params": params})

    def tell(self, on: Sent, method: str, params: Json | None = None) -> None:
        self._begin(on)
        self.rig.body(on, notification(method, params))

    def _begin(self, on: Sent) -> None:
        if not self.begun(on):
            self.rig.head(on, 200, STREAM)
            self._streams.add(on.exchange)

    def begun(self, on: Sent) -> bool:
        """Whether something has been said on the way to the answer."""
        return on.exchange in self._streams

    def answer(self, on: Sent, value: object) -> None:
        """The result of a call."""
        self.end_with(on, result(on.body["id"], value))

    def end_with(self, on: Sent, response: Json) -> None:
        """The response of a call, on the stream that it may have by now."""
        if not self.begun(on):
            self.rig.reply(on, response)
            return
        self.rig.body(on, response)
        self.rig.end(on)


def envelope(capabilities: Json | None = None, /, **more: Any) -> Json:
    """A ``_meta`` of 2026-07-28; ``more`` are keys in it besides the three."""
    declared = FORMS if capabilities is None else capabilities
    return {**ENVELOPE, PREFIX + "clientCapabilities": declared, **more}


def on_old_server(offered: Json | None = None, **options: Any) -> tuple[Rig, OldServer]:
    """A legacy server to which nobody has said anything."""
    rig = started(ProtocolEra.LEGACY, **options)
    return rig, OldServer(rig, offered)


def calling(
    meta: Json | None = None, offered: Json | None = None, method: str = "tools/call"
) -> tuple[Rig, OldServer, Sent]:
    """A 2026-07-28 client's request 1 runs at the server."""
    rig, server = on_old_server(offered)
    params: Json = {"name": "t", "arguments": {"a": 1}, "_meta": meta or envelope()}
    rig.ask(1, method, params)
    return rig, server, server.take_one()
