"""A modern client on a modern server: forwarded byte for byte, with the headers of its body."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.events import Failure
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    DISCOVERED,
    ENVELOPE,
    INTRODUCTION,
    MODERN,
    PREFIX,
    STREAM,
    Rig,
    Sent,
    error,
    notification,
    on_modern,
    result,
    started,
)


def listed() -> Rig:
    """A modern client that has seen the server's one tool."""
    rig = on_modern()
    rig.ask_modern("list", "tools/list")
    rig.succeed(rig.got_one(), {"tools": [{"name": "t", "inputSchema": {}}]})
    rig.told()
    return rig


def calling(method: str = "tools/call", **params: Any) -> tuple[Rig, Sent]:
    rig = listed()
    rig.ask_modern(1, method, {"name": "t", **params})
    return rig, rig.got_one()


def listening() -> tuple[Rig, Sent]:
    """A subscription that the server has acknowledged."""
    rig = on_modern()
    rig.ask_modern("sub-1", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    listen = rig.got_one()
    rig.head(listen, 200, STREAM)
    rig.body(listen, notification("notifications/subscriptions/acknowledged"))
    assert rig.told_one()["method"] == "notifications/subscriptions/acknowledged"
    return rig, listen


def test_a_forced_era_needs_no_probe() -> None:
    rig = started(ProtocolEra.MODERN)
    assert rig.got() == []
    assert rig.notices == ["protocol era: modern (as set)"]
    rig.ask_modern(1, "tools/list")
    assert rig.got_one().method == "tools/list"


def test_a_request_goes_up_byte_for_byte_with_the_headers_of_its_body() -> None:
    rig = on_modern()
    meta = msgspec.json.encode({**ENVELOPE, PREFIX + "protocolVersion": "2031-05-05"})
    params = b'{"name":"t \\u00e9","_meta":%b}' % meta
    line = b'{"jsonrpc":"2.0", "id":1, "params":%b, "method":"prompts/get"}' % params
    rig.line(line)
    sent = rig.got_one()
    assert sent.raw == line
    assert sent.headers == {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2031-05-05",
        "Mcp-Method": "prompts/get",
        "Mcp-Name": "=?base64?dCDDqQ==?=",
    }


@pytest.mark.parametrize(
    ("method", "version", "code"),
    [
        ("tools/list\r\nX: y", MODERN, -32600),
        ("tools list", MODERN, -32600),
        ("é", MODERN, -32600),
        ("tools/list", "2026\r\nX: y", -32602),
        ("tools/list", "", -32602),
        ("tools/list", 7, -32602),
    ],
)
def test_what_may_not_stand_in_a_header_is_refused(method: str, version: Any, code: int) -> None:
    rig = on_modern()
    rig.ask(1, method, {"_meta": {PREFIX + "protocolVersion": version}})
    refused = rig.told_one()
    assert (refused["id"], refused["error"]["code"]) == (1, code)
    rig.say(notification(method, {"_meta": {PREFIX + "protocolVersion": version}}))
    assert rig.got() == []
    assert rig.told() == []


def test_answers_and_stream_messages_pass_byte_for_byte() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    progress = b'{"method":"notifications/progress", "jsonrpc":"2.0","params":{"progress":1.0}}'
    asked = b'{"id":1,"jsonrpc":"2.0","result":{"resultType":"input_required","requestState":"s"}}'
    rig.body(call, progress)
    rig.body(call, asked)
    assert rig.emitted == [progress, asked]


def test_an_error_in_an_http_error_comes_with_its_data() -> None:
    rig, call = calling()
    told = error(1, -32021, "no", {"requiredCapabilities": {"elicitation": {}}})
    rig.reply(call, told, 400)
    assert rig.told_one() == told


@pytest.mark.parametrize("committed", [False, True], ids=["before the head", "on the stream"])
def test_cancelling_closes_the_exchange_and_posts_nothing(committed: bool) -> None:
    rig, call = calling()
    if committed:
        rig.head(call, 200, STREAM)
    rig.cancel(1)
    assert rig.aborted == [call.exchange]
    assert rig.got() == []
    rig.succeed(call, {})
    assert rig.told() == []


@pytest.mark.parametrize("named", [2, "1", None])
def test_cancelling_what_is_not_open_changes_nothing(named: object) -> None:
    rig, call = calling()
    rig.cancel(named)
    assert (rig.got(), rig.aborted) == ([], [])
    rig.succeed(call, {})
    rig.cancel(1)
    assert rig.aborted == []


def test_a_subscription_is_one_long_exchange() -> None:
    rig, listen = listening()
    changed = notification("notifications/tools/list_changed", {"_meta": {"x": 1}})
    rig.body(listen, changed)
    assert rig.told_one() == changed
    rig.cancel("sub-1")
    assert rig.aborted == [listen.exchange]
    assert (rig.got(), rig.told()) == ([], [])


def test_a_subscription_that_the_server_ends_in_good_order_has_a_result() -> None:
    rig, listen = listening()
    rig.body(listen, result("sub-1", {"resultType": "complete"}))
    rig.end(listen)
    assert rig.told_one() == result("sub-1", {"resultType": "complete"})


@pytest.mark.parametrize("broken", [False, True], ids=["ended", "broken off"])
def test_a_lost_subscription_is_told_as_cancelled(broken: bool) -> None:
    rig, listen = listening()
    if broken:
        rig.fail(listen, Failure.CLOSED)
    else:
        rig.end(listen)
    assert rig.told_one() == notification("notifications/cancelled", {"requestId": "sub-1"})


def test_a_subscription_that_never_began_is_an_error() -> None:
    rig = on_modern()
    rig.ask_modern("sub-1", "subscriptions/listen")
    rig.unreachable(rig.got_one())
    assert rig.told_one()["error"]["code"] == -32603


def test_a_stream_that_ends_without_the_answer_is_an_error() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    rig.end(call)
    told = rig.told_one()["error"]
    assert "connection was lost" in told["message"]
    assert told["data"]["mayHaveExecuted"] is True


def test_there_are_no_requests_of_the_server() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    rig.body(call, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert rig.told() == []
    assert "dropped the server's request 'ping'" in rig.notices[-1]
    rig.body(call, result(1, {}))
    assert rig.told_one()["result"] == {}


@pytest.mark.obligation(28)
def test_nothing_follows_the_answer() -> None:
    rig, call = calling()
    rig.head(call, 200, STREAM)
    rig.body(call, result(1, {}))
    rig.told()
    rig.body(call, notification("notifications/message", {"data": "late"}))
    assert rig.told() == []


def test_a_response_of_the_client_goes_nowhere() -> None:
    rig = on_modern()
    rig.say(result(1, {}))
    assert (rig.got(), rig.told()) == ([], [])


def test_a_notification_with_an_envelope_is_posted() -> None:
    rig = on_modern()
    rig.say(notification("vendor/hint", {"_meta": ENVELOPE}))
    posted = rig.got_one()
    assert posted.headers["Mcp-Method"] == "vendor/hint"
    assert posted.headers["MCP-Protocol-Version"] == MODERN
    rig.reply(posted, error(1, -32600), 400)
    assert rig.told() == []
    assert "HTTP 400" in rig.notices[-1]


def test_a_signal_closes_a_notification_that_is_on_its_way() -> None:
    rig = on_modern()
    rig.say(notification("notifications/x", {"_meta": ENVELOPE}))
    posted = rig.got_one()
    rig.terminate()
    assert rig.aborted == [posted.exchange]
    assert rig.told() == []
    assert rig.exit_code == 0


# -- a server that seems to be of another era --

LEGACY_REFUSAL = error(None, -32000, "Bad Request: No valid session ID provided")


@pytest.mark.obligation(16)
@pytest.mark.parametrize("body", [b"", LEGACY_REFUSAL], ids=["bare", "with an error"])
@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_call_that_another_era_refused_is_repeated_once_the_era_is_known(
    body: Any, status: int
) -> None:
    rig, call = calling()
    rig.reply(call, body, status)
    assert rig.told() == []
    probe = rig.got_one()
    assert probe.method == "server/discover"
    rig.succeed(probe, DISCOVERED)
    again = rig.got_one()
    assert (again.raw, again.headers) == (call.raw, call.headers)
    rig.succeed(again, {"content": []})
    assert rig.told_one() == result(1, {"content": []})


@pytest.mark.obligation(16)
@pytest.mark.parametrize("body", [b"", LEGACY_REFUSAL], ids=["bare", "with an error"])
def test_a_second_refusal_is_the_answer(body: Any) -> None:
    rig, call = calling()
    rig.reply(call, body, 400)
    rig.succeed(rig.got_one(), DISCOVERED)
    rig.reply(rig.got_one(), body, 400)
    assert rig.told_one()["id"] == 1
    assert rig.got() == []


def test_a_call_is_not_repeated_on_a_server_whose_era_was_set() -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask_modern(1, "prompts/list")
    rig.reply(rig.got_one(), LEGACY_REFUSAL, 400)
    assert rig.told_one() == {**LEGACY_REFUSAL, "id": 1}
    assert rig.got() == []


def test_a_call_that_waits_for_the_era_again_can_be_cancelled() -> None:
    rig, call = calling()
    rig.reply(call, status=404)
    probe = rig.got_one()
    rig.cancel(1)
    rig.succeed(probe, DISCOVERED)
    assert (rig.got(), rig.told()) == ([], [])


ANNOTATED = {
    "name": "t",
    "inputSchema": {"properties": {"r": {"type": "string", "x-mcp-header": "Region"}}},
}
ILLEGAL = {
    "name": "bad",
    "inputSchema": {"properties": {"r": {"type": "number", "x-mcp-header": "Region"}}},
}


def test_annotated_arguments_are_mirrored_once_the_tool_list_was_seen() -> None:
    rig = on_modern()
    rig.ask_modern(1, "tools/list")
    page = result(1, {"tools": [ANNOTATED], "nextCursor": "2", "resultType": "complete"})
    rig.reply(rig.got_one(), page)
    assert rig.told_one() == page
    rig.ask_modern(2, "tools/call", {"name": "t", "arguments": {"r": "eu"}})
    assert rig.got_one().headers["Mcp-Param-Region"] == "eu"


def test_tools_with_illegal_annotations_are_taken_out_of_the_list() -> None:
    rig = on_modern()
    rig.ask_modern(1, "tools/list")
    listed = {"tools": [ILLEGAL, ANNOTATED], "ttlMs": 5}
    rig.succeed(rig.got_one(), listed)
    assert rig.told_one()["result"] == {"tools": [ANNOTATED], "ttlMs": 5}
    assert "tool 'bad' is hidden" in rig.notices[-1]


def looking() -> tuple[Rig, Sent]:
    """A call whose tool is being looked for."""
    rig = on_modern()
    rig.ask_modern(1, "tools/call", {"name": "t", "arguments": {"r": "eu"}})
    return rig, rig.got_one()


@pytest.mark.obligation(8)
def test_a_tool_that_was_never_listed_is_looked_for_before_it_is_called() -> None:
    rig, listing = looking()
    assert listing.headers["Mcp-Method"] == "tools/list"
    rig.succeed(listing, {"tools": [ANNOTATED]})
    call = rig.got_one()
    assert (call.body["id"], call.headers["Mcp-Param-Region"]) == (1, "eu")
    rig.succeed(call, {"content": []})
    assert rig.told_one() == result(1, {"content": []})


def test_cancelling_a_call_ends_the_search_for_its_tool() -> None:
    rig, listing = looking()
    rig.cancel(1)
    assert rig.aborted == [listing.exchange]
    assert (rig.got(), rig.told()) == ([], [])


def test_the_search_for_a_tool_is_waited_for_at_the_end() -> None:
    rig, listing = looking()
    rig.close()
    assert rig.exit_code is None
    rig.succeed(listing, {"tools": [ANNOTATED]})
    rig.succeed(rig.got_one(), {"content": []})
    assert rig.told_one() == result(1, {"content": []})
    assert rig.exit_code == 0


def test_a_signal_ends_the_search_for_a_tool() -> None:
    rig, listing = looking()
    rig.terminate()
    assert rig.aborted == [listing.exchange]
    assert "data" not in rig.told_one()["error"]
    assert rig.exit_code == 0


@pytest.mark.obligation(10)
def test_a_call_with_the_wrong_headers_is_repeated_with_those_of_a_new_list() -> None:
    rig, call = calling(arguments={"r": "eu"})
    rig.reply(call, error(1, -32020, "Mcp-Param-Region header is missing"), 400)
    assert rig.told() == []
    rig.succeed(rig.got_one(), {"tools": [ANNOTATED]})
    again = rig.got_one()
    assert again.raw == call.raw
    assert again.headers == {**call.headers, "Mcp-Param-Region": "eu"}
    rig.reply(again, error(1, -32020, "still wrong"), 400)
    assert rig.told_one() == error(1, -32020, "still wrong")


def test_a_changed_tool_list_is_learnt_anew_before_the_next_call() -> None:
    rig = listed()
    rig.ask_modern("sub", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    listen = rig.got_one()
    rig.head(listen, 200, STREAM)
    rig.body(listen, notification("notifications/tools/list_changed"))
    rig.ask_modern(1, "tools/call", {"name": "t"})
    assert rig.got_one().method == "tools/list"


def test_a_hidden_tool_stays_hidden_without_another_complaint() -> None:
    rig = on_modern()
    for number in (1, 2):
        rig.ask_modern(number, "tools/list")
        rig.succeed(rig.got_one(), {"tools": [ILLEGAL]})
        assert rig.told_one()["result"] == {"tools": []}
    assert len([text for text in rig.notices if "is hidden" in text]) == 1


def test_a_tool_list_that_is_none_passes_through() -> None:
    rig = on_modern()
    rig.ask_modern(1, "tools/list")
    rig.succeed(rig.got_one(), 7)
    assert rig.told_one()["result"] == 7


def test_a_bare_discover_leaves_the_way_to_initialize_open() -> None:
    rig = on_modern()
    rig.ask_modern(0, "server/discover")
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.told_one()["result"] == DISCOVERED
    rig.ask(1, "initialize", INTRODUCTION)
    assert rig.told_one()["result"]["protocolVersion"] == "2025-06-18"
    rig.ask_modern(2, "tools/list")
    rig.ask(3, "tools/list")
    assert [sent.body["id"] for sent in rig.got()] == [2, 3]
