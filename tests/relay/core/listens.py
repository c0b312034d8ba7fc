"""A legacy client that subscribes, and the streams of the modern server that tells it."""

from __future__ import annotations

from typing import Any

from relay.core.events import TimerId
from tests.relay.core.rig import (
    DISCOVERED,
    INTRODUCTION,
    PREFIX,
    STREAM,
    Json,
    Rig,
    Sent,
    notification,
    result,
    started,
)

LISTEN = "subscriptions/listen"
UPDATED = "notifications/resources/updated"
TOOLS_CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
NO_LISTS: Json = {"resources": {"subscribe": True}}


def client(capabilities: Json | None = None) -> Rig:
    """A legacy client that has just been introduced to a modern server."""
    rig = started()
    offered = DISCOVERED["capabilities"] if capabilities is None else capabilities
    rig.succeed(rig.got_one(), {**DISCOVERED, "capabilities": offered})
    rig.ask("init", "initialize", INTRODUCTION)
    rig.say(notification("notifications/initialized"))
    rig.told()
    rig.notices.clear()
    return rig


def asked(sent: Sent) -> Json:
    """The filter of a listen."""
    assert sent.method == LISTEN
    filter_: Json = sent.body["params"]["notifications"]
    return filter_


def tell(rig: Rig, stream: Sent, method: str, **params: Any) -> None:
    meta = {PREFIX + "subscriptionId": stream.body["id"]}
    rig.body(stream, notification(method, {**params, "_meta": meta}))


def acknowledge(rig: Rig, stream: Sent, honoured: Json | None = None) -> None:
    rig.head(stream, 200, STREAM)
    tell(rig, stream, ACKNOWLEDGED, notifications=asked(stream) if honoured is None else honoured)


def subscribe(rig: Rig, request_id: object, uri: object) -> None:
    rig.ask(request_id, "resources/subscribe", {"uri": uri})


def unsubscribe(rig: Rig, request_id: object, uri: object) -> None:
    rig.ask(request_id, "resources/unsubscribe", {"uri": uri})


def subscribed(*uris: str) -> tuple[Rig, Sent]:
    """A client without lists to hear of that has subscribed to some resources."""
    rig = client(NO_LISTS)
    stream: Sent | None = None
    for number, uri in enumerate(uris):
        subscribe(rig, number, uri)
        stream = rig.got_one()
        acknowledge(rig, stream)
        assert rig.told_one() == result(number, {})
    assert stream is not None
    for timer in [each for each in rig.timers if each.startswith("listen-stream")]:
        rig.fire(timer)
    rig.aborted.clear()
    return rig, stream


def time_of(rig: Rig, stream: Sent) -> float | None:
    """The seconds that a stream is given for what is expected of it."""
    return rig.timers.get(timer_of(stream))


def timer_of(stream: Sent) -> TimerId:
    return TimerId(f"listen-stream:{stream.exchange}")


def updated(uri: str) -> Json:
    return notification(UPDATED, {"uri": uri})
