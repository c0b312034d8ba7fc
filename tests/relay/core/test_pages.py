"""Lists whose pages are merged, and batches whose answers go back together."""

from __future__ import annotations

from typing import Any

import pytest

from relay.core.events import Failure
from relay.core.messages import parse_client
from relay.core.pages import MAX_PAGES, pages_for
from relay.core.session import ProtocolEra
from tests.relay.core.rig import INITIALIZED, INTRODUCTION, JSON, Json, Rig, result, started


def merging(era: ProtocolEra = ProtocolEra.LEGACY) -> Rig:
    rig = started(era, merge_pages=True)
    rig.ask("init", "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), result("init", INITIALIZED), headers={**JSON, "mcp-session-id": "s"})
    rig.told()
    return rig


def page(items: list[int], cursor: str | None = None, **more: Any) -> Json:
    fields: Json = {"tools": [{"name": str(item)} for item in items], **more}
    return fields if cursor is None else {**fields, "nextCursor": cursor}


def names(told: Json) -> list[str]:
    return [tool["name"] for tool in told["result"]["tools"]]


def test_all_pages_come_back_as_one() -> None:
    rig = merging()
    rig.ask(7, "tools/list", {"_meta": {"progressToken": 1}})
    first = rig.got_one()
    rig.succeed(first, page([1, 2], "", ttlMs=9000, cacheScope="public", extra=1))
    second = rig.got_one()
    assert second.body["params"] == {"_meta": {"progressToken": 1}, "cursor": ""}
    assert second.body["id"] not in (7, first.body["id"])
    assert rig.told() == []
    rig.succeed(second, page([3], "c", ttlMs=70, cacheScope="private"))
    rig.succeed(rig.got_one(), page([], ttlMs="x"))
    told = rig.told_one()
    assert told["id"] == 7
    assert names(told) == ["1", "2", "3"]
    assert {key: value for key, value in told["result"].items() if key != "tools"} == {
        "ttlMs": "x",
        "cacheScope": "private",
        "extra": 1,
    }


def test_a_list_of_one_page_passes_byte_for_byte() -> None:
    rig = merging()
    rig.ask(7, "tools/list")
    sent = rig.got_one()
    body = b'{"jsonrpc":"2.0","id":7,"result":{"tools": [ ]}}'
    rig.reply(sent, body)
    assert rig.emitted == [body]


def test_a_client_that_turns_the_pages_itself_is_left_to_it() -> None:
    rig = merging()
    rig.ask(7, "tools/list", {"cursor": ""})
    rig.succeed(rig.got_one(), page([1], "c"))
    assert rig.told_one()["result"]["nextCursor"] == "c"
    rig.ask(8, "tools/call", {"name": "x"})
    rig.succeed(rig.got_one(), {"nextCursor": "mine"})
    assert rig.told_one()["result"] == {"nextCursor": "mine"}


@pytest.mark.parametrize("how", ["error", "refused", "broken", "no object"])
def test_a_page_that_fails_leaves_what_came_before_and_the_way_on(how: str) -> None:
    rig = merging()
    rig.ask(7, "tools/list")
    rig.succeed(rig.got_one(), page([1], "c"))
    sent = rig.got_one()
    if how == "error":
        rig.reply(sent, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no"}}')
    elif how == "refused":
        rig.reply(sent, status=500)
    elif how == "broken":
        rig.fail(sent, Failure.PROTOCOL)
    else:
        rig.succeed(sent, 7)
    told = rig.told_one()
    assert names(told) == ["1"]
    assert told["result"].get("nextCursor", "c") == "c"


def test_a_first_page_that_fails_is_an_error() -> None:
    rig = merging()
    rig.ask(7, "tools/list")
    sent = rig.got_one()
    rig.reply(sent, {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no"}})
    assert rig.told_one()["error"]["code"] == -32601


def test_a_list_without_end_is_cut_and_says_where() -> None:
    rig = merging()
    rig.ask(7, "tools/list")
    for number in range(MAX_PAGES):
        rig.succeed(rig.got_one(), page([number], "again"))
    told = rig.told_one()
    assert len(names(told)) == MAX_PAGES
    assert told["result"]["nextCursor"] == "again"


def test_a_cancelled_list_asks_for_no_further_page() -> None:
    rig = merging()
    rig.ask(7, "tools/list")
    rig.succeed(rig.got_one(), page([1], "c"))
    second = rig.got_one()
    rig.cancel(7)
    rig.fire("cancel:")
    assert rig.got_one().body["params"]["requestId"] == second.body["id"]
    rig.succeed(second, page([2], "d"))
    assert rig.told() == []
    assert rig.got() == []


def test_only_whole_lists_have_pages() -> None:
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        assert pages_for(parse_client(b'{"jsonrpc":"2.0","id":1,"method":"%s"}' % method.encode()))
    assert pages_for(parse_client(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}')) is None


def test_a_cursor_may_be_nested_as_deeply_as_the_parser_allows() -> None:
    """Which depth that is depends on the stack, so all are tried that come into question."""
    for levels in range(600, 1000):
        rig = merging()
        rig.ask(1, "tools/list")
        cursor = b"[" * levels + b"]" * levels
        head = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":'
        rig.reply(rig.got_one(), head + cursor + b"}}")
        assert len(rig.got()) + len(rig.told()) == 1
