"""Batches, which 2025-03-26 alone has: taken apart, and answered together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.session import ProtocolEra
from tests.relay.core.rig import INITIALIZED, INTRODUCTION, JSON, Json, Rig, result, started


def speaking(version: str) -> Rig:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", {**INTRODUCTION, "protocolVersion": version})
    rig.reply(rig.got_one(), result("init", INITIALIZED), headers={**JSON, "mcp-session-id": "s"})
    rig.told()
    return rig


def request(number: Any, method: str = "tools/list") -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method}


def send(rig: Rig, *members: Any) -> None:
    rig.line(msgspec.json.encode(members))


def answered(rig: Rig) -> list[Any]:
    """The ids of the one batch that the client was given."""
    (line,) = rig.emitted
    assert line.startswith(b"[")
    return [message["id"] for message in rig.told()]


@pytest.mark.obligation(35)
def test_the_answers_to_a_batch_come_together_in_one_array() -> None:
    rig = speaking("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/x"}
    send(rig, request(1), note, request("2"), result(9, {}))
    first, third, second, fourth = rig.got()
    assert [first.method, third.method, second.body["id"]] == [
        "tools/list",
        "notifications/x",
        "2",
    ]
    assert fourth.body["result"] == {}
    rig.succeed(second, {})
    assert rig.told() == []
    rig.succeed(first, {})
    assert answered(rig) == ["2", 1]


def test_each_faulty_member_of_a_batch_is_answered_in_it() -> None:
    rig = speaking("2025-03-26")
    send(rig, 1, {"id": 5}, request(6), request(6), [])
    rig.succeed(rig.got_one(), {})
    assert answered(rig) == [None, 5, None, None, 6]


def test_a_cancelled_member_is_not_waited_for() -> None:
    rig = speaking("2025-03-26")
    send(rig, request(1), request(2))
    first, second = rig.got()
    rig.succeed(first, {})
    rig.cancel(2)
    assert answered(rig) == [1]
    rig.succeed(second, {})
    assert rig.told() == []


def test_a_batch_of_which_nothing_is_left_to_answer_is_not_answered() -> None:
    rig = speaking("2025-03-26")
    send(rig, request(1))
    rig.cancel(1)
    send(rig, {"jsonrpc": "2.0", "method": "notifications/x"})
    assert rig.told() == []


def test_a_signal_answers_a_batch_as_well() -> None:
    rig = speaking("2025-03-26")
    send(rig, request(1), request(2))
    rig.terminate()
    assert answered(rig) == [1, 2]


@pytest.mark.obligation(35)
@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", 7])
def test_other_revisions_have_no_batches(version: Any) -> None:
    rig = speaking(version)
    send(rig, request(1))
    told = rig.told_one()
    assert told["error"]["code"] == -32600
    assert "batch" in told["error"]["message"]


@pytest.mark.parametrize("line", [b"[]", b"[1", b"[\xff]", b"[" * 100_000])
def test_an_array_that_is_no_batch_gets_one_error(line: bytes) -> None:
    rig = speaking("2025-03-26")
    rig.line(line)
    assert rig.told_one()["error"]["code"] in (-32600, -32700)


def test_before_the_handshake_nothing_is_known_of_batches() -> None:
    rig = started(ProtocolEra.LEGACY)
    send(rig, request(1))
    assert rig.told_one()["error"]["code"] == -32600
