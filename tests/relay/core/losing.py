"""Losing a legacy session, and watching the relay make a new one."""

from __future__ import annotations

from typing import Any

from relay.core.commands import Verb
from tests.relay.core.rig import (
    INITIALIZED,
    JSON,
    Json,
    Rig,
    Sent,
    notification,
    on_legacy,
    result,
)

SESSION = "Mcp-Session-Id"


def calling(
    rig: Rig | None = None, number: int = 1, method: str = "tools/call"
) -> tuple[Rig, Sent]:
    """A request is open at the server, in the session s1."""
    rig = rig or on_legacy()
    rig.ask(number, method, {"name": "t"})
    return rig, rig.got_one()


def lose(rig: Rig, sent: Sent) -> Sent:
    """The server has forgotten the session; return the handshake for a new one."""
    rig.reply(sent, status=404, headers={})
    handshake = rig.got_one()
    assert handshake.method == "initialize"
    return handshake


def introduce(rig: Rig, handshake: Sent, session: str | None = "s2", **changed: Any) -> None:
    """Answer the relay's own handshake, as far as the acceptance of what it says then."""
    headers = JSON if session is None else {**JSON, "mcp-session-id": session}
    answer = result(handshake.body["id"], {**INITIALIZED, **changed})
    rig.reply(handshake, answer, headers=headers)
    initialized = rig.got_one()
    assert initialized.body == notification("notifications/initialized")
    rig.reply(initialized, status=202, headers={})


def posts(rig: Rig) -> list[Sent]:
    """What was posted, beside the request for the standing stream."""
    return [sent for sent in rig.got() if sent.verb is Verb.POST]


def restored(rig: Rig, handshake: Sent, session: str | None = "s2", **changed: Any) -> list[Sent]:
    """Make the new session; return what is posted in it at once."""
    introduce(rig, handshake, session, **changed)
    return posts(rig)


def accept(rig: Rig, number: int, method: str, params: Json) -> None:
    """Have the server accept a request."""
    rig.ask(number, method, params)
    rig.succeed(rig.got_one(), {})
    assert rig.told_one()["id"] == number
