"""What a server says on one stream for all requests finds its way to the right one."""

from __future__ import annotations

import pytest

from tests.relay.core.old_server import OldServer, envelope, on_old_server
from tests.relay.core.rig import PREFIX, Json, Rig, notification


def two_calls(first: Json, second: Json) -> tuple[Rig, OldServer]:
    """Two calls of a 2026-07-28 client in one session, each with its own additions to ``_meta``."""
    rig, server = on_old_server()
    for number, more in enumerate((first, second)):
        rig.ask(number, "tools/call", {"name": "t", "_meta": envelope(**more)})
        server.take()
    return rig, server


def say(rig: Rig, server: OldServer, method: str, params: Json) -> Json:
    """Let the server say something on its standing stream."""
    message = notification(method, params)
    rig.body(server.standing[-1], message)
    return message


def test_progress_on_the_standing_stream_is_that_of_the_request_with_its_token() -> None:
    rig, server = two_calls({"progressToken": "a"}, {"progressToken": 7})
    told = [
        say(rig, server, "notifications/progress", {"progressToken": token, "progress": 1})
        for token in (7, "a")
    ]
    assert rig.told() == told


def test_progress_on_the_standing_stream_under_an_unknown_token_is_dropped() -> None:
    rig, server = two_calls({"progressToken": "a"}, {})
    strangers: tuple[object, ...] = ("b", None, {})
    for token in strangers:
        say(rig, server, "notifications/progress", {"progressToken": token, "progress": 1})
    say(rig, server, "notifications/progress", {"progress": 1})
    assert rig.told() == []


@pytest.mark.obligation(28)
@pytest.mark.parametrize(
    ("levels", "heard"),
    [
        (("info", "info"), True),
        (("info", "debug"), True),
        (("info", "error"), False),
        (("info", None), False),
        ((None, None), False),
    ],
)
def test_a_log_message_on_the_standing_stream_is_heard_if_all_have_asked_for_it(
    levels: tuple[str | None, str | None], heard: bool
) -> None:
    rig, server = two_calls(
        *({} if level is None else {PREFIX + "logLevel": level} for level in levels)
    )
    told = say(rig, server, "notifications/message", {"level": "info", "data": "x"})
    assert rig.told() == ([told] if heard else [])
