"""A modern server that asks a legacy client back before it answers."""

from __future__ import annotations

from typing import Any

from tests.relay.core.rig import INTRODUCTION, Json, Rig, Sent, bridged, notification

FORM: Json = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Name?", "requestedSchema": {"type": "object"}},
}
URL: Json = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Open", "url": "https://x.example/"},
}
SAMPLE: Json = {
    "method": "sampling/createMessage",
    "params": {"messages": [], "maxTokens": 9, "metadata": {"n": 1}},
}
ROOTS: Json = {"method": "roots/list"}
ACCEPTED: Json = {"action": "accept", "content": {"name": "ann"}}
EVERYTHING: Json = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {"listChanged": True},
}


def client(capabilities: Json = EVERYTHING, revision: str = "2025-11-25") -> Rig:
    return bridged(
        {**INTRODUCTION, "protocolVersion": revision, "capabilities": capabilities},
    )


def calling(rig: Rig, request_id: Any = 1) -> Sent:
    rig.ask(request_id, "tools/call", {"name": "t", "arguments": {"n": 1}})
    return rig.got_one()


def wants(rig: Rig, leg: Sent, asked: Any = None, state: Any = None) -> list[Json]:
    """Let the server want input; what the client is told of it."""
    value: Json = {"resultType": "input_required"}
    if asked is not None:
        value["inputRequests"] = asked
    if state is not None:
        value["requestState"] = state
    rig.succeed(leg, value)
    return rig.told()


def void(question: Json) -> Json:
    return notification("notifications/cancelled", {"requestId": question["id"]})
