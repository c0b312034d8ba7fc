"""What an HTTP outcome without a response is to the request that waits for it."""

from __future__ import annotations

from typing import Any

import pytest

from relay.core.events import Failure
from relay.core.outcomes import failed, unanswered
from tests.relay.core.rig import JSON, STREAM, error, on_legacy, result

HTML = {"content-type": "text/html; charset=utf-8"}


def outcome(
    status: int,
    headers: dict[str, str],
    body: Any = b"",
    method: str = "tools/list",
    session: str | None = None,
) -> dict[str, Any]:
    """The error that a request is told, through a whole session."""
    rig = on_legacy(session)
    rig.ask(1, method, {"name": "t"})
    rig.reply(rig.got_one(), body, status, headers)
    told = rig.told_one()
    assert told["id"] == 1
    return dict(told["error"])


@pytest.mark.parametrize(
    ("status", "headers", "body", "named"),
    [
        (202, {}, b"", "gave no answer (HTTP 202)"),
        (200, JSON, b"", "gave no answer (HTTP 200)"),
        (204, {}, b"", "gave no answer (HTTP 204)"),
        (200, HTML, b"<html>log in</html>", "text/html instead of JSON-RPC"),
        (200, {}, b"text", "no content type instead of JSON-RPC"),
        (200, JSON, b"{broken", "not the JSON-RPC response asked for"),
        (200, JSON, result(2, {}), "not the JSON-RPC response asked for"),
        (200, JSON, result("1", {}), "not the JSON-RPC response asked for"),
        (200, STREAM, b"", "stream ended before the answer"),
        (200, STREAM, b"{broken", "stream ended before the answer"),
        (200, STREAM, result(2, {}), "stream ended before the answer"),
        (
            302,
            {"location": "https://a.example/x?token=secret"},
            b"",
            "redirects to https://a.example/x (HTTP 302)",
        ),
        (300, {}, b"", "redirects to nowhere (HTTP 300)"),
        (307, {}, b"", "redirects to nowhere"),
        (400, {}, b"", "refused the request (HTTP 400)"),
        (401, {"www-authenticate": "Bearer x"}, b"", "it says: Bearer x"),
        (403, {}, b"", "refuses authorization (HTTP 403)"),
        (404, HTML, b"<html>", "found nothing at the URL"),
        (413, {}, b"", "size limit (HTTP 413)"),
        (415, {}, b"", "refused the request (HTTP 415)"),
        (429, {"retry-after": "700"}, b"", "too often"),
        (500, HTML, b"oops", "failed (HTTP 500)"),
        (502, HTML, b"<html>", "failed (HTTP 502)"),
    ],
)
def test_the_error_says_what_happened(
    status: int, headers: dict[str, str], body: Any, named: str
) -> None:
    told = outcome(status, headers, body)
    assert told["code"] == -32603
    assert named in told["message"]
    assert told["data"]["status"] == status
    assert told["data"]["hint"]
    assert "secret" not in str(told)
    assert "mayHaveExecuted" not in told["data"]


def test_a_bare_404_means_that_there_is_nothing() -> None:
    assert outcome(404, {})["code"] == -32601


def test_a_404_in_a_session_means_that_the_session_is_over() -> None:
    problem = unanswered(404, {}, b"", "tools/list", in_session=True)
    assert (problem.code, problem.data) == (-32603, {"status": 404, "hint": "connect again"})
    assert "ended the session" in problem.message


def test_the_evidence_is_short_and_printable() -> None:
    told = outcome(
        502, HTML, b"<html>\r\n\x00\x1b[31m<title>Bad \xff gateway</title>" + b"x" * 5000
    )
    assert told["data"]["contentType"] == "text/html"
    assert told["data"]["snippet"].startswith("<html> [31m<title>Bad \ufffd gateway</title>xxx")
    assert len(told["data"]["snippet"]) == 200


def test_a_wait_that_the_server_asks_for_is_told() -> None:
    told = outcome(429, {"retry-after": "700"})["data"]
    assert "in 700 s" in told["hint"]
    assert told["retryAfter"] == 700
    assert "in 61 s" in outcome(503, {"retry-after": "61"})["data"]["hint"]
    assert "later" in outcome(429, {"retry-after": "Tue"})["data"]["hint"]
    assert "retryAfter" not in outcome(500, {"retry-after": "61"})["data"]


@pytest.mark.parametrize("status", [400, 404, 500])
@pytest.mark.parametrize("request_id", [1, None, "server-error"])
def test_a_json_rpc_error_in_an_http_error_is_the_answer(status: int, request_id: object) -> None:
    assert outcome(status, JSON, error(request_id, -32602, "m", {"d": 1})) == {
        "code": -32602,
        "message": "m",
        "data": {"d": 1},
    }


def test_an_error_with_a_foreign_id_in_a_success_is_not() -> None:
    assert outcome(200, JSON, error("other", -32602))["code"] == -32603


@pytest.mark.parametrize(
    ("status", "doubt"),
    [(200, True), (202, True), (500, True), (502, True), (300, False), (307, False), (400, False)],
)
def test_a_tool_call_that_may_have_run_says_so(status: int, doubt: bool) -> None:
    told = outcome(status, {}, method="tools/call")
    assert ("may have executed" in told["message"]) is doubt
    assert told["data"].get("mayHaveExecuted", False) is doubt


@pytest.mark.parametrize("failure", list(Failure))
@pytest.mark.parametrize("doubt", [False, True])
def test_every_failure_is_told_with_a_next_step(failure: Failure, doubt: bool) -> None:
    problem = failed(failure, "the detail", "tools/call", may_have_executed=doubt)
    assert problem.code == -32603
    assert "the detail" in problem.message
    assert problem.data is not None
    assert problem.data["failure"] == failure.value
    assert problem.data["hint"]
    assert ("mayHaveExecuted" in problem.data) is doubt


def test_only_tool_calls_are_in_doubt() -> None:
    problem = failed(Failure.CLOSED, "", "tools/list", may_have_executed=True)
    assert problem.data is not None
    assert "mayHaveExecuted" not in problem.data


def test_no_own_error_uses_a_code_of_the_specification() -> None:
    codes = {unanswered(status, {}, b"", "m", in_session=False).code for status in range(200, 600)}
    assert codes == {-32603, -32601}


def test_a_second_answer_is_dropped() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/list")
    sent = rig.got_one()
    rig.head(sent, 200, STREAM)
    rig.body(sent, result(1, {"n": 1}))
    rig.body(sent, result(1, {"n": 2}))
    rig.fail(sent, Failure.CLOSED)
    assert rig.told_one()["result"] == {"n": 1}


def test_an_event_that_is_no_message_does_not_lose_the_answer_after_it() -> None:
    rig = on_legacy()
    rig.ask(1, "tools/list")
    sent = rig.got_one()
    rig.head(sent, 200, STREAM)
    rig.body(sent, b"{broken")
    rig.body(sent, result(2, {}))
    rig.body(
        sent,
        b"[" + b'{"jsonrpc":"2.0","method":"n"},' * 2 + b'{"jsonrpc":"2.0","id":1,"result":{}}]',
    )
    assert [message.get("id") for message in rig.told()] == [None, None, 1]
    assert len([text for text in rig.notices if text.startswith("dropped")]) == 2
