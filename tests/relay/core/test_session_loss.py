"""Telling that a server has lost a session from what it answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relay.core.losing import calling, restored
from tests.relay.core.rig import (
    JSON,
    STREAM,
    Json,
    error,
    on_legacy,
    result,
)

LOST_TEXTS = [
    "Session not found",
    "Bad Request: No valid session ID provided",
    "Bad Request: Missing session ID",
    "Not Found: Session has been terminated",
    "Bad Request: Server not initialized",
    "Invalid session ID: 3fa85f64-5717-4562",
    "Mcp-Session-Id header is required",
    "Bad Request: No valid session ID or not an initialize request",
    "Unauthorized: Session not found",
    "session expired",
    "The session 'a1' does not exist.",
]
OTHER_TEXTS = [
    "Login session expired",
    "the diagnostic session is closed",
    "Session",
    "not found",
    "Session not found" + " not found" * 30,
]


def is_lost(method: str, status: int, body: Json | bytes, headers: Any = None) -> bool:
    rig, call = calling(method=method)
    rig.reply(call, body, status, headers)
    sent = rig.got()
    if not sent:
        assert [message["id"] for message in rig.told()] == [1]
        return False
    assert [each.method for each in sent] == ["initialize"]
    assert rig.told() == []
    (again,) = restored(rig, sent[0])
    return again.raw == call.raw


@pytest.mark.obligation(31)
@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
@pytest.mark.parametrize("status", [400, 401, 404, 500, 503])
@pytest.mark.parametrize("text", LOST_TEXTS)
def test_a_refusal_that_speaks_of_the_session_alone_means_its_loss(
    text: str, status: int, method: str
) -> None:
    for code in (-32600, -32000, -32001):
        assert is_lost(method, status, error(None, code, text))


@pytest.mark.parametrize("text", LOST_TEXTS)
def test_so_does_one_in_a_successful_stream(text: str) -> None:
    assert is_lost("tools/list", 200, error(1, -32000, text), STREAM)
    assert is_lost("tools/call", 200, error(1, -32600, text), STREAM)


@pytest.mark.obligation(27)
@pytest.mark.parametrize("code", [-32000, -32001, -32603, 7])
@pytest.mark.parametrize("text", LOST_TEXTS)
def test_an_error_of_a_tool_that_speaks_of_sessions_is_that_of_the_tool(
    text: str, code: int
) -> None:
    assert not is_lost("tools/call", 200, error(1, code, text))


@pytest.mark.obligation(27)
@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("text", OTHER_TEXTS)
def test_an_error_that_merely_mentions_a_session_is_no_loss(text: str, status: int) -> None:
    assert not is_lost("tools/call", status, error(1, -32600, text))


@pytest.mark.parametrize("status", [200, 400, 401, 403, 409, 500])
def test_other_answers_are_no_loss(status: int) -> None:
    assert not is_lost("tools/call", status, error(1, -32602, "Session not found"))
    assert not is_lost("tools/call", status, b"<html>go away</html>")
    assert not is_lost("tools/call", status, {**error(1, 0), "error": 7})


def test_a_result_that_speaks_of_a_lost_session_is_a_result() -> None:
    text = {"content": [{"type": "text", "text": "Session not found"}], "isError": True}
    assert not is_lost("tools/call", 200, result(1, text))
    assert not is_lost("tools/call", 400, result(1, text))


@pytest.mark.parametrize(
    "body",
    [b"Invalid or missing session ID", b'{"error":"No valid session"}', b"unknown session id 7"],
)
def test_a_body_that_is_no_json_rpc_may_tell_of_the_loss(body: bytes) -> None:
    assert is_lost("tools/call", 400, body)
    assert is_lost("tools/list", 500, body)
    assert not is_lost("tools/call", 500, body)  # it may have got as far as the tool
    assert not is_lost("tools/list", 200, body)


def test_a_method_that_is_not_found_is_not_a_session_that_is_not_found() -> None:
    assert not is_lost("vendor/x", 404, error(1, -32601, "Method not found"))
    assert is_lost("vendor/x", 404, error(1, -32601, "Session not found"))
    assert is_lost("vendor/x", 404, error(1, -32000, "whatever"))
    assert is_lost("vendor/x", 404, {**error(1, 0), "error": 7})


def test_a_server_without_sessions_loses_none() -> None:
    rig = on_legacy(session=None)
    rig.ask(1, "tools/list")
    rig.reply(rig.got_one(), error(1, -32600, "Session not found"), 404)
    assert rig.told_one()["error"]["message"] == "Session not found"
    assert rig.got() == []


def test_a_challenge_is_about_credentials() -> None:
    challenge = {**JSON, "www-authenticate": "Bearer"}
    assert not is_lost("tools/list", 401, b"Unauthorized: Session not found", challenge)
    assert not is_lost("tools/list", 401, error(1, -32600, "session expired"), challenge)
    assert is_lost("tools/list", 401, b"Unauthorized: Session not found")


def test_a_long_body_is_not_searched_to_its_end() -> None:
    assert is_lost("tools/list", 400, b"x" * 4000 + b" no session")
    assert not is_lost("tools/list", 400, b"x" * 5000 + b" no session")
