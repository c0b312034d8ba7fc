"""Refusals as servers in the field word them, where they decide what the relay does next."""

from __future__ import annotations

import pytest

from relay.core.session import ProtocolEra
from tests.relay.core.rig import Json, bridged, error

OF_A_LEGACY_SERVER = [
    # The Python SDK before 2.0 names an id of its own, whatever the request's was.
    (400, error("server-error", -32600, "Bad Request: Missing session ID")),
    (400, error("server-error", -32600, "Bad Request: Unsupported protocol version: 2026-07-28")),
    # The TypeScript SDK has null there.
    (400, error(None, -32000, "Bad Request: Server not initialized")),
    (404, error(None, -32001, "Session not found")),
]


@pytest.mark.obligation(16)
@pytest.mark.parametrize(("status", "refusal"), OF_A_LEGACY_SERVER)
def test_a_call_that_a_server_of_another_era_has_not_read_is_begun_anew(
    status: int, refusal: Json
) -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t", "arguments": {}})
    rig.reply(rig.got_one(), refusal, status)
    assert rig.told() == []
    rig.reply(rig.got_one(), refusal, status)
    assert rig.session.protocol_era is ProtocolEra.LEGACY
    assert rig.got_one().method == "initialize"


@pytest.mark.obligation(27)
def test_a_call_that_a_server_has_refused_under_its_id_is_not_begun_anew() -> None:
    rig = bridged()
    rig.ask(1, "tools/call", {"name": "t", "arguments": {}})
    rig.reply(rig.got_one(), error(1, -32600, "not like this"), 400)
    assert rig.told_one() == error(1, -32600, "not like this")
    assert rig.got() == []
