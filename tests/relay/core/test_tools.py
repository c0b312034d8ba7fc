"""What the relay knows of a modern server's tools, and what it does to know it."""

from __future__ import annotations

from typing import Any

import pytest

from relay.core.modern.tools import LISTING_SECONDS, MAX_PAGES, MAX_PARKED, MAX_TOOLS
from tests.relay.core.rig import (
    DISCOVERED,
    ENVELOPE,
    INTRODUCTION,
    MODERN,
    PREFIX,
    STREAM,
    Json,
    Rig,
    Sent,
    error,
    notification,
    on_modern,
    result,
    started,
)

ARGUMENTS: Json = {"r": "eu"}


def tool(name: str = "t", header: str | None = "Region", kind: str = "string") -> Json:
    """A tool whose one argument is mirrored."""
    argument: Json = {"type": kind}
    if header is not None:
        argument["x-mcp-header"] = header
    return {"name": name, "inputSchema": {"type": "object", "properties": {"r": argument}}}


ILLEGAL = tool("bad", kind="number")


def legacy() -> Rig:
    """A legacy client of a modern server that tells of no changes."""
    rig = started()
    rig.succeed(rig.got_one(), {**DISCOVERED, "capabilities": {"tools": {}}})
    rig.ask("init", "initialize", INTRODUCTION)
    rig.told()
    return rig


def call(rig: Rig, request_id: object = 1, name: str = "t", **more: Any) -> None:
    params = {"name": name, "arguments": ARGUMENTS, **more}
    rig.ask_modern(request_id, "tools/call", params)


def list_tools(rig: Rig, *tools: Json, **more: Any) -> None:
    """The client asks for the list of tools and gets it."""
    rig.ask_modern("list", "tools/list")
    rig.succeed(rig.got_one(), {"tools": list(tools), "resultType": "complete", **more})


def listing(rig: Rig) -> Sent:
    """The list that the relay asks for because a call waits for it."""
    sent = rig.got_one()
    assert sent.method == "tools/list"
    return sent


def called(rig: Rig, name: str = "t") -> Sent:
    sent = rig.got_one()
    assert (sent.method, sent.body["params"]["name"]) == ("tools/call", name)
    return sent


# -- lists that pass --


@pytest.mark.obligation(8)
def test_what_a_list_tells_is_mirrored_in_the_calls_after_it() -> None:
    rig = on_modern()
    list_tools(rig, tool(), nextCursor="2")
    assert rig.told_one()["result"]["nextCursor"] == "2"
    call(rig)
    assert called(rig).headers["Mcp-Param-Region"] == "eu"


def test_a_list_without_faults_passes_byte_for_byte() -> None:
    rig = on_modern()
    rig.ask_modern(1, "tools/list")
    page = b'{"id":1, "jsonrpc":"2.0","result":{"tools":[{"name":"t"},7], "ttlMs":1.0}}'
    rig.reply(rig.got_one(), page)
    assert rig.emitted == [page]


@pytest.mark.parametrize("value", [7, {}, {"tools": 7}, {"tools": None}])
def test_a_list_that_is_none_passes(value: object) -> None:
    rig = on_modern()
    rig.ask_modern(1, "tools/list")
    rig.succeed(rig.got_one(), value)
    assert rig.told_one()["result"] == value


@pytest.mark.obligation(9)
def test_a_tool_that_must_not_be_shown_is_hidden_each_time_and_warned_of_once() -> None:
    rig = on_modern()
    rig.notices.clear()
    for _ in range(2):
        list_tools(rig, ILLEGAL, tool(), ttlMs=5)
        assert rig.told_one()["result"]["tools"] == [tool()]
    (warning,) = rig.notices
    assert "'bad' is hidden" in warning


def test_a_hidden_tool_may_still_be_called_and_is_not_looked_for() -> None:
    rig = on_modern()
    list_tools(rig, ILLEGAL)
    call(rig, 1, "bad")
    assert "Mcp-Param-Region" not in called(rig, "bad").headers


def test_later_pages_add_to_earlier_ones_and_a_new_list_replaces_what_it_names() -> None:
    rig = on_modern()
    list_tools(rig, tool("one"), nextCursor="2")
    list_tools(rig, tool("two"))
    for name in ("one", "two"):
        call(rig, name, name)
        assert called(rig, name).headers["Mcp-Param-Region"] == "eu"
    list_tools(rig, tool("one", "Zone"))
    call(rig, 3, "one")
    headers = called(rig, "one").headers
    assert (headers["Mcp-Param-Zone"], "Mcp-Param-Region" in headers) == ("eu", False)


def test_only_so_many_tools_are_remembered() -> None:
    rig = on_modern()
    list_tools(rig, tool("first"), *(tool(f"t{number}", None) for number in range(MAX_TOOLS)))
    call(rig, 1, f"t{MAX_TOOLS - 1}")
    called(rig, f"t{MAX_TOOLS - 1}")
    call(rig, 2, "first")
    listing(rig)


# -- looking for a tool --


@pytest.mark.obligation(8, 11)
def test_a_tool_that_was_never_listed_is_looked_for_before_its_call() -> None:
    rig = on_modern()
    meta = {**ENVELOPE, PREFIX + "logLevel": "info", "progressToken": 7, "traceparent": "00-1"}
    call(rig, _meta=meta)
    looked = listing(rig)
    assert looked.body["params"] == {"_meta": ENVELOPE}
    assert looked.headers["Mcp-Method"] == "tools/list"
    assert looked.headers["MCP-Protocol-Version"] == MODERN
    rig.succeed(looked, {"tools": [tool()]})
    sent = called(rig)
    assert sent.headers["Mcp-Param-Region"] == "eu"
    assert sent.body["params"]["_meta"] == ENVELOPE
    rig.succeed(sent, {"content": []})
    assert rig.told_one() == result(1, {"content": []})


def test_a_call_of_a_legacy_client_is_looked_up_in_its_name() -> None:
    rig = legacy()
    rig.ask(1, "tools/call", {"name": "t", "arguments": ARGUMENTS})
    looked = listing(rig)
    assert looked.body["params"]["_meta"][PREFIX + "clientInfo"] == INTRODUCTION["clientInfo"]
    rig.succeed(looked, {"tools": [tool()]})
    sent = called(rig)
    assert sent.headers["Mcp-Param-Region"] == "eu"
    rig.succeed(sent, {"content": [], "resultType": "complete"})
    assert rig.told_one() == result(1, {"content": []})


def test_pages_are_read_until_the_tool_is_found() -> None:
    rig = on_modern()
    call(rig)
    rig.succeed(listing(rig), {"tools": [tool("other")], "nextCursor": ""})
    second = listing(rig)
    assert second.body["params"] == {"_meta": ENVELOPE, "cursor": ""}
    rig.succeed(second, {"tools": [tool()], "nextCursor": "3"})
    assert called(rig).headers["Mcp-Param-Region"] == "eu"


@pytest.mark.parametrize("cursor", [{}, {"nextCursor": None}, {"nextCursor": 7}])
def test_a_tool_that_is_not_found_is_called_all_the_same(cursor: Json) -> None:
    rig = on_modern()
    call(rig)
    rig.succeed(listing(rig), {"tools": [tool("other")], **cursor})
    rig.succeed(called(rig), {"isError": True})
    assert rig.told_one() == result(1, {"isError": True})
    call(rig, 2)
    called(rig)


def test_a_list_without_end_is_not_read_for_ever() -> None:
    rig = on_modern()
    call(rig)
    for _ in range(MAX_PAGES):
        rig.succeed(listing(rig), {"tools": [], "nextCursor": "more"})
    called(rig)


@pytest.mark.parametrize(
    "body", [error(0, -32603, "down"), {**error(0, 0), "error": 7}, result(0, 7), result(0, {})]
)
def test_a_list_that_fails_holds_up_no_call(body: Json) -> None:
    rig = on_modern()
    call(rig)
    looked = listing(rig)
    rig.reply(looked, {**body, "id": looked.body["id"]})
    assert "Mcp-Param-Region" not in called(rig).headers


def test_a_list_that_is_refused_holds_up_no_call() -> None:
    rig = on_modern()
    call(rig)
    rig.reply(listing(rig), b"busy", 500, {"content-type": "text/plain"})
    called(rig)
    assert "HTTP 500" in rig.notices[-1]


def test_a_list_that_takes_too_long_holds_up_no_call() -> None:
    rig = on_modern()
    call(rig)
    looked = listing(rig)
    (timer,) = [each for each in rig.timers if each.startswith("tools-listing")]
    assert rig.timers[timer] == LISTING_SECONDS
    rig.fire(timer)
    assert rig.aborted == [looked.exchange]
    called(rig)
    assert rig.timers == {}


def test_many_calls_wait_for_one_listing() -> None:
    rig = on_modern()
    for number in range(5):
        call(rig, number)
    rig.succeed(listing(rig), {"tools": [tool()]})
    assert [sent.body["id"] for sent in rig.got()] == [0, 1, 2, 3, 4]


def test_a_call_goes_as_soon_as_its_own_tool_is_found() -> None:
    rig = on_modern()
    call(rig, 1, "one")
    call(rig, 2, "two")
    rig.succeed(listing(rig), {"tools": [tool("one")], "nextCursor": "2"})
    second, first = rig.got()
    assert (first.body["id"], second.method) == (1, "tools/list")
    rig.succeed(second, {"tools": [tool("two")]})
    called(rig, "two")


def test_more_calls_than_may_wait_are_sent_at_once() -> None:
    rig = on_modern()
    for number in range(MAX_PARKED + 1):
        call(rig, number)
    looked, sent = rig.got()
    assert (looked.method, sent.body["id"]) == ("tools/list", MAX_PARKED)
    rig.reply(sent, error(MAX_PARKED, -32020), 400)
    assert rig.told_one()["error"]["code"] == -32020


def test_a_cancelled_call_is_not_sent_and_the_others_are() -> None:
    rig = on_modern()
    call(rig, 1)
    call(rig, 2)
    looked = listing(rig)
    rig.cancel(1)
    assert rig.aborted == []
    rig.succeed(looked, {"tools": [tool()]})
    assert called(rig).body["id"] == 2


def test_a_listing_that_nobody_waits_for_any_more_is_given_up() -> None:
    rig = on_modern()
    call(rig, 1)
    looked = listing(rig)
    rig.cancel(1)
    assert rig.aborted == [looked.exchange]
    assert rig.timers == {}
    call(rig, 2)
    rig.succeed(listing(rig), {"tools": [tool()]})
    assert called(rig).body["id"] == 2


def test_what_is_said_beside_the_list_is_for_nobody() -> None:
    rig = on_modern()
    call(rig)
    looked = listing(rig)
    rig.head(looked, 200, STREAM)
    rig.body(looked, notification("notifications/message", {"level": "info", "data": "x"}))
    rig.body(looked, result(looked.body["id"], {"tools": [tool()]}))
    rig.end(looked)
    assert rig.told() == []
    called(rig)


def test_a_call_that_waits_holds_up_the_end_until_it_is_answered() -> None:
    rig = on_modern()
    call(rig)
    looked = listing(rig)
    rig.close()
    assert rig.exit_code is None
    rig.succeed(looked, {"tools": [tool()]})
    rig.succeed(called(rig), {})
    assert rig.told_one() == result(1, {})
    assert rig.exit_code == 0


def test_the_end_gives_up_the_listing() -> None:
    rig = on_modern()
    call(rig)
    looked = listing(rig)
    rig.terminate()
    assert rig.told_one()["error"]["code"] == -32603
    assert looked.exchange in rig.aborted
    assert rig.got() == []


# -- headers that the server refuses --


def refuse(rig: Rig, sent: Sent, code: int = -32020) -> None:
    text = "Mcp-Param-Zone header is missing but the request body's 'r' argument is present"
    rig.reply(sent, error(sent.body["id"], code, text), 400)


@pytest.mark.obligation(10)
@pytest.mark.parametrize("modern", [True, False])
def test_a_call_refused_for_its_headers_is_sent_again_with_those_of_a_new_list(
    modern: bool,
) -> None:
    rig = on_modern() if modern else legacy()
    if modern:
        call(rig)
    else:
        rig.ask(1, "tools/call", {"name": "t", "arguments": ARGUMENTS})
    rig.succeed(listing(rig), {"tools": [tool()]})
    refuse(rig, called(rig))
    assert rig.told() == []
    rig.succeed(listing(rig), {"tools": [tool(header="Zone")]})
    again = called(rig)
    assert again.headers["Mcp-Param-Zone"] == "eu"
    rig.succeed(again, {"content": []})
    assert rig.told_one() == result(1, {"content": []})


def test_a_refused_call_waits_for_the_page_that_its_tool_is_on() -> None:
    rig = on_modern()
    list_tools(rig, tool())
    rig.told()
    call(rig)
    refuse(rig, called(rig))
    rig.succeed(listing(rig), {"tools": [], "nextCursor": "2"})
    rig.succeed(listing(rig), {"tools": [tool(header="Zone")]})
    assert called(rig).headers["Mcp-Param-Zone"] == "eu"


def test_a_call_refused_twice_is_answered_with_the_error() -> None:
    rig = on_modern()
    list_tools(rig, tool())
    rig.told()
    call(rig)
    refuse(rig, called(rig))
    rig.succeed(listing(rig), {"tools": [tool()]})
    refuse(rig, called(rig))
    assert rig.told_one()["error"]["code"] == -32020
    assert rig.got() == []
    call(rig, 2)
    refuse(rig, called(rig))
    listing(rig)


@pytest.mark.parametrize("code", [-32602, -32021, -32603])
def test_another_error_is_answered_at_once(code: int) -> None:
    rig = on_modern()
    list_tools(rig, tool())
    rig.told()
    call(rig)
    refuse(rig, called(rig), code)
    assert rig.told_one()["error"]["code"] == code
    assert rig.got() == []


def test_an_error_without_a_code_is_answered() -> None:
    rig = on_modern()
    list_tools(rig, tool())
    rig.told()
    call(rig)
    rig.reply(called(rig), {"jsonrpc": "2.0", "id": 1, "error": "no"})
    assert rig.told_one()["error"] == "no"


# -- tools that change --


def told_of_a_change(rig: Rig) -> None:
    rig.ask_modern("sub", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    stream = rig.got_one()
    rig.head(stream, 200, STREAM)
    rig.body(stream, notification("notifications/tools/list_changed"))
    rig.told()


@pytest.mark.obligation(42)
def test_after_a_change_a_tool_is_looked_for_again() -> None:
    rig = on_modern()
    list_tools(rig, tool())
    told_of_a_change(rig)
    call(rig)
    rig.succeed(listing(rig), {"tools": [tool(header="Zone")]})
    assert called(rig).headers["Mcp-Param-Zone"] == "eu"


def test_after_a_change_the_old_knowledge_is_better_than_none() -> None:
    rig = on_modern()
    list_tools(rig, tool())
    told_of_a_change(rig)
    call(rig)
    rig.reply(listing(rig), b"", 500, {})
    assert called(rig).headers["Mcp-Param-Region"] == "eu"
