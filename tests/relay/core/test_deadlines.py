"""The overall deadline of a request, whatever the server does meanwhile."""

from __future__ import annotations

import msgspec

from relay.core.events import TimerId
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    INITIALIZED,
    INTRODUCTION,
    JSON,
    STREAM,
    Rig,
    notification,
    result,
    started,
)

PERIODS = 9  # an eighth more than the limit, at most


def limited(era: ProtocolEra) -> Rig:
    rig = started(era, total_timeout=80)
    if era is ProtocolEra.LEGACY:
        rig.ask("init", "initialize", INTRODUCTION)
        rig.reply(
            rig.got_one(), result("init", INITIALIZED), headers={**JSON, "mcp-session-id": "s"}
        )
        rig.told()
    return rig


def pass_time(rig: Rig, periods: int = PERIODS) -> None:
    for _ in range(periods):
        rig.fire("ageing")


def test_a_legacy_server_that_only_keeps_alive_is_given_up_and_told() -> None:
    rig = limited(ProtocolEra.LEGACY)
    rig.ask(1, "tools/call", {"name": "t"})
    sent = rig.got_one()
    rig.head(sent, headers=STREAM)
    assert rig.timers[TimerId("ageing")] == 10
    pass_time(rig, PERIODS - 1)
    assert rig.told() == []
    pass_time(rig, 1)
    told = rig.told_one()
    assert told["id"] == 1
    assert "80 s" in told["error"]["message"]
    assert told["error"]["data"]["mayHaveExecuted"]
    assert rig.got_one().body["params"] == {"requestId": 1, "reason": "timeout"}
    rig.body(sent, result(1, {}))
    assert rig.told() == []
    assert "ageing" not in rig.timers


def test_a_modern_server_sees_its_stream_close() -> None:
    rig = limited(ProtocolEra.MODERN)
    rig.ask_modern(1, "tools/list")
    sent = rig.got_one()
    pass_time(rig)
    assert rig.aborted == [sent.exchange]
    told = rig.told_one()
    assert told["id"] == 1
    assert "mayHaveExecuted" not in told["error"]["data"]


def test_a_younger_request_has_its_own_time() -> None:
    rig = limited(ProtocolEra.LEGACY)
    rig.ask(1, "tools/list")
    pass_time(rig, 5)
    rig.ask(2, "tools/list")
    pass_time(rig, 4)
    assert rig.told_one()["id"] == 1
    pass_time(rig, 4)
    assert rig.told() == []
    pass_time(rig, 1)
    assert rig.told_one()["id"] == 2


def test_time_stands_still_while_nothing_is_asked() -> None:
    rig = limited(ProtocolEra.LEGACY)
    rig.ask(1, "ping")
    rig.succeed(rig.got_one(), {})
    rig.fire("ageing")
    assert "ageing" not in rig.timers
    rig.ask(2, "ping")
    assert rig.timers[TimerId("ageing")] == 10


def test_a_subscription_may_last() -> None:
    rig = limited(ProtocolEra.MODERN)
    rig.ask_modern(1, "subscriptions/listen", {"notifications": {}})
    pass_time(rig, 3 * PERIODS)
    assert rig.told() == []


def test_an_overdue_initialize_is_not_cancelled_at_the_server() -> None:
    rig = started(ProtocolEra.LEGACY, total_timeout=80)
    rig.ask(1, "initialize", INTRODUCTION)
    rig.got_one()
    pass_time(rig)
    assert rig.told_one()["id"] == 1
    assert not any(timer.startswith("cancel") for timer in rig.timers)
    assert rig.got() == []


def test_without_a_limit_there_is_no_clock() -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask_modern(1, "tools/list")
    rig.say(notification("notifications/x"))
    assert rig.timers == {}


def test_the_requests_of_a_batch_have_no_longer_than_others() -> None:
    rig = started(ProtocolEra.LEGACY, total_timeout=80)
    rig.ask(0, "initialize", {**INTRODUCTION, "protocolVersion": "2025-03-26"})
    rig.succeed(rig.got_one(), INITIALIZED)
    rig.told()
    rig.fire("ageing")
    ping = {"jsonrpc": "2.0", "method": "ping"}
    rig.line(msgspec.json.encode([{**ping, "id": 1}, {**ping, "id": 2}]))
    pass_time(rig)
    assert [message["id"] for message in rig.told()] == [1, 2]
