"""Requests and results between a 2026-07-28 client and a legacy server."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.events import Failure
from tests.relay.core.old_server import (
    SERVER_INFO,
    calling,
    envelope,
    on_old_server,
)
from tests.relay.core.rig import PREFIX, STREAM, Json, error, result


@pytest.mark.obligation(23, 45)
def test_a_request_goes_up_without_what_is_new_and_with_all_that_is_the_clients() -> None:
    trace = {"traceparent": "00-1-2-03", "x.vendor/y": [1], "progressToken": "p"}
    rig, server = on_old_server()
    params = {"name": "t", "task": {"ttl": 1}, "inputResponses": {}, "_meta": envelope(**trace)}
    rig.ask("seven", "tools/call", params)
    sent = server.take_one()
    assert sent.body["params"] == {"name": "t", "_meta": trace}
    assert sent.headers["Mcp-Session-Id"] == "s1"


def test_an_envelope_alone_leaves_no_meta_behind() -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, "tools/list")
    assert server.take_one().body["params"] == {}


@pytest.mark.obligation(23)
@pytest.mark.parametrize(
    ("method", "cacheable"),
    [
        ("tools/call", False),
        ("prompts/get", False),
        ("completion/complete", False),
        ("vendor/x", False),
        ("tools/list", True),
        ("prompts/list", True),
        ("resources/list", True),
        ("resources/templates/list", True),
        ("resources/read", True),
    ],
)
def test_a_result_gets_what_is_new(method: str, cacheable: bool) -> None:
    rig, server, sent = calling(method=method)
    server.answer(sent, {"x": 1.10, "_meta": {"vendor": 1}})
    expected: Json = {"x": 1.1, "resultType": "complete", "_meta": {"vendor": 1, **SERVER_INFO}}
    if method == "tools/list":
        expected["tools"] = []
    if cacheable:
        expected |= {"ttlMs": 0, "cacheScope": "private"}
    assert rig.told_one() == result(1, expected)


def test_tools_that_run_only_as_tasks_are_hidden_and_the_others_lose_their_mark() -> None:
    rig, server, sent = calling(method="tools/list")
    tools: list[Any] = [
        {"name": "a", "execution": {"taskSupport": "required"}},
        {"name": "b", "execution": {"taskSupport": "optional"}},
        {"name": "c"},
        7,
    ]
    server.answer(sent, {"tools": tools})
    assert rig.told_one()["result"]["tools"] == [{"name": "b"}, {"name": "c"}, 7]


def test_a_result_that_is_no_object_is_an_error() -> None:
    rig, server, sent = calling()
    server.answer(sent, [1])
    assert rig.told_one()["error"]["code"] == -32603


@pytest.mark.obligation(44)
@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        ({"code": -32002, "message": "none", "data": 5},
         {"code": -32602, "message": "none", "data": {"uri": "x:y"}}),
        ({"code": -32050, "message": "odd"},
         {"code": -32603, "message": "odd", "data": {"serverCode": -32050}}),
        ({"code": -32602, "message": "bad", "data": [1]},
         {"code": -32602, "message": "bad", "data": [1]}),
        ({"code": -32800, "message": "ours"}, {"code": -32800, "message": "ours"}),
        ({"code": "x"}, {"code": -32603, "message": "the server's error is none of JSON-RPC"}),
    ],
)  # fmt: skip
def test_an_error_bears_a_code_that_2026_knows(raised: Json, shown: Json) -> None:
    rig, server = on_old_server()
    rig.ask_modern(1, "resources/read", {"uri": "x:y"})
    sent = server.take_one()
    rig.reply(sent, {"jsonrpc": "2.0", "id": sent.body["id"], "error": raised})
    assert rig.told_one() == {"jsonrpc": "2.0", "id": 1, "error": shown}


def test_a_missing_resource_without_a_uri_is_an_error_without_one() -> None:
    rig, _server, sent = calling()
    rig.reply(sent, error(sent.body["id"], -32002))
    assert rig.told_one()["error"] == {"code": -32602, "message": "no"}


def test_a_lost_answer_may_have_been_executed() -> None:
    rig, _server, sent = calling()
    rig.head(sent, 200, STREAM)
    rig.fail(sent, Failure.CLOSED, may_have_executed=True)
    assert rig.told_one()["error"]["data"]["mayHaveExecuted"] is True


def test_all_pages_of_a_list_are_merged_if_the_operator_wants_it() -> None:
    rig, server = on_old_server(merge_pages=True)
    rig.ask_modern(1, "tools/list")
    server.answer(server.take_one(), {"tools": [{"name": "a"}], "nextCursor": "c"})
    second = server.take_one()
    assert second.body["params"] == {"cursor": "c"}
    server.answer(second, {"tools": [{"name": "b"}]})
    answer = rig.told_one()
    assert answer["id"] == 1
    assert answer["result"]["tools"] == [{"name": "a"}, {"name": "b"}]
    assert "nextCursor" not in answer["result"]


@pytest.mark.parametrize("levels", range(800, 1001))
def test_no_depth_of_nesting_brings_the_relay_down(levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    rig, server = on_old_server()
    meta = msgspec.json.encode(envelope(**{PREFIX + "logLevel": "debug"}))
    head = b'{"jsonrpc":"2.0","method":"tools/call","id":7,"params":{"_meta":%b,"x":%b' % (
        meta,
        deep,
    )
    rig.line(head + b"}}")
    for sent in server.take():
        rig.head(sent, 200, STREAM)
        asked = b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"x":%b}}'
        rig.body(sent, asked % deep)
        if any(timer.startswith("run:") for timer in rig.timers):
            rig.fire("run:")
            wanted = rig.told_one()["result"]
            answers = b',"requestState":"%b","inputResponses":{"%b":%b}}}'
            state, (key,) = wanted["requestState"], wanted["inputRequests"]
            rig.line(head + answers % (state.encode(), key.encode(), deep))
        request_id = msgspec.json.encode(sent.body["id"])
        rig.body(sent, b'{"jsonrpc":"2.0","id":%b,"result":{"x":%b}}' % (request_id, deep))
        rig.end(sent)
    assert rig.told_one()["id"] == 7
