"""A client in a session with a server of 2024-11-05, which answers on a stream of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from relay.core.commands import Verb
from relay.core.events import ServerSent
from relay.core.options import Transport
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    INITIALIZED,
    INTRODUCTION,
    STREAM,
    Json,
    Rig,
    Sent,
    notification,
    result,
    started,
)

ENDPOINT = "/messages/?session_id=7"


def on_sse(era: ProtocolEra = ProtocolEra.LEGACY, **options: Any) -> Rig:
    """A session that has had its first event."""
    return started(era, transport=Transport.SSE, **options)


def asked(**options: Any) -> tuple[Rig, Sent]:
    """The client's initialize waits for the endpoint; the stream has been asked for."""
    rig = on_sse(**options)
    rig.ask("init", "initialize", INTRODUCTION)
    stream = rig.got_one()
    assert stream.verb is Verb.GET
    return rig, stream


def event(rig: Rig, stream: Sent, data: Json | bytes | str, name: str = "message") -> None:
    """One server-sent event."""
    if isinstance(data, dict):
        data = msgspec.json.encode(data)
    rig.feed(ServerSent(stream.exchange, data.encode() if isinstance(data, str) else data, name))


def name_endpoint(rig: Rig, stream: Sent, endpoint: str = ENDPOINT) -> None:
    rig.head(stream, headers=STREAM)
    event(rig, stream, endpoint, "endpoint")


def accept(rig: Rig, post: Sent) -> None:
    """Say 202 to a POST, with a body that means nothing."""
    rig.reply(post, b"Accepted", 202, {"content-type": "text/plain"})


def answer(rig: Rig, stream: Sent, post: Sent, value: object) -> None:
    """Accept a request and answer it on the stream."""
    accept(rig, post)
    event(rig, stream, result(post.body["id"], value))


def in_session(**options: Any) -> tuple[Rig, Sent]:
    """The handshake is done, on the stream that is returned."""
    rig, stream = asked(**options)
    shake_hands(rig, stream)
    return rig, stream


def shake_hands(rig: Rig, stream: Sent) -> None:
    name_endpoint(rig, stream)
    answer(rig, stream, rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    accept(rig, rig.got_one())
    assert rig.told_one()["result"] == INITIALIZED


def restore(rig: Rig) -> Sent:
    """Let the relay make a new session in place of one that was lost; return its stream."""
    if any(timer.startswith("sse-again") for timer in rig.timers):
        rig.fire("sse-again")
    stream = rig.got_one()
    name_endpoint(rig, stream)
    handshake = rig.got_one()
    assert handshake.body["params"] == INTRODUCTION
    answer(rig, stream, handshake, INITIALIZED)
    initialized = rig.got_one()
    assert initialized.method == "notifications/initialized"
    accept(rig, initialized)
    return stream
