"""What a legacy client is told by a modern server on the way to an answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relay.core.asking import (
    ROOTS,
    calling,
    client,
)
from tests.relay.core.rig import (
    STREAM,
    Json,
    notification,
    result,
)


@pytest.mark.obligation(28)
def test_progress_never_falls_over_the_legs_of_a_call() -> None:
    rig = client()

    def progress(value: Any, token: Any = "p") -> Json:
        return notification("notifications/progress", {"progressToken": token, "progress": value})

    rig.ask(1, "tools/call", {"name": "t", "_meta": {"progressToken": "p"}})
    leg = rig.got_one()
    rig.head(leg, 200, STREAM)
    rig.body(leg, progress(1))
    rig.body(leg, progress(2.5))
    rig.body(leg, progress(2.5))
    asked = {"resultType": "input_required", "inputRequests": {"q": ROOTS}}
    rig.body(leg, result(leg.body["id"], asked))
    *before, question = rig.told()
    assert before == [progress(1), progress(2.5)]
    rig.say(result(question["id"], {"roots": []}))
    leg = rig.got_one()
    assert leg.body["params"]["_meta"]["progressToken"] == "p"
    rig.head(leg, 200, STREAM)
    for value in (1, 2, 3, "4", None, True):
        rig.body(leg, progress(value))
    rig.body(leg, progress(9, "another"))
    rig.body(leg, notification("notifications/progress"))
    rig.body(leg, {"jsonrpc": "2.0", "method": "notifications/progress"})
    assert rig.told() == [progress(3)]


@pytest.mark.obligation(28)
def test_progress_that_nobody_asked_for_is_dropped() -> None:
    rig = client()
    rig.ask(1, "tools/list")
    for leg in (rig.got_one(), calling(rig, 2)):
        rig.head(leg, 200, STREAM)
        rig.body(leg, notification("notifications/progress", {"progressToken": 1, "progress": 1}))
    assert rig.told() == []


@pytest.mark.obligation(28)
def test_log_messages_come_once_a_level_is_set() -> None:
    rig = client()
    message = notification("notifications/message", {"level": "info", "data": "x"})
    leg = calling(rig)
    rig.head(leg, 200, STREAM)
    rig.body(leg, message)
    assert rig.told() == []
    rig.ask(2, "logging/setLevel", {"level": "info"})
    rig.body(leg, message)
    assert rig.told() == [result(2, {}), message]


@pytest.mark.obligation(28)
def test_nothing_follows_the_answer() -> None:
    rig = client()
    rig.ask(1, "tools/call", {"name": "t", "_meta": {"progressToken": 1}})
    leg = rig.got_one()
    rig.head(leg, 200, STREAM)
    rig.body(leg, result(1, {"content": []}))
    rig.told()
    rig.body(leg, notification("notifications/progress", {"progressToken": 1, "progress": 1}))
    assert rig.told() == []
