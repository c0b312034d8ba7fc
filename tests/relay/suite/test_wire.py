"""Bytes become messages as JSON has them, and what is none says why."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.suite.document import parse
from relay.suite.judgement import RpcError, RpcResult
from relay.suite.wire import (
    Answered,
    Asked,
    NoMessage,
    Request,
    Told,
    notification,
    read,
    reply,
)
from tests.relay.suite.examples import values


def test_each_kind_of_message_is_told_apart() -> None:
    assert read(b'{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}') == [
        Answered(1, RpcResult({"a": 1}))
    ]
    assert read(b'{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"m","data":[]}}') == [
        Answered("x", RpcError(-1, "m", []))
    ]
    assert read(b'{"jsonrpc":"2.0","id":2,"method":"ping"}') == [Asked(2, "ping")]
    assert read(b'{"jsonrpc":"2.0","method":"m","params":{}}') == [Told("m")]


def test_a_result_beside_an_error_that_is_null_is_a_result() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":null,"error":null}'
    assert read(line) == [Answered(1, RpcResult(None))]


@pytest.mark.parametrize(
    "line",
    [b"", b"text", b"[]", b"7", b"{}", b'"x"', b"\xff\xfe", b'{"jsonrpc":2.0,"id":1,"result":1}'],
)
def test_what_is_no_message_says_why(line: bytes) -> None:
    with pytest.raises(NoMessage, match=r"\w"):
        read(line)


@given(st.binary(max_size=40) | values.map(lambda value: json.dumps(value).encode()))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    with suppress(NoMessage):
        read(data)


@given(values)
def test_a_request_is_one_line_of_json(value: object) -> None:
    body = Request(1, "m", {"value": value}, "legacy").body
    assert b"\n" not in body
    message = parse(body.decode())
    assert message == {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"value": value}}


def test_a_nested_input_is_sent_however_deep_it_is() -> None:
    value: object = 1
    for _ in range(20_000):
        value = [value]
    body = Request(1, "m", {"value": value}, "legacy").body
    assert body.count(b"[") == 20_000


def test_a_notification_without_params_has_none() -> None:
    assert notification("m", {}) == b'{"jsonrpc":"2.0","method":"m"}'
    assert notification("m", {"a": 1}) == b'{"jsonrpc":"2.0","method":"m","params":{"a":1}}'


def test_a_ping_is_answered_and_all_else_refused() -> None:
    assert json.loads(reply(Asked("1", "ping"))) == {"jsonrpc": "2.0", "id": "1", "result": {}}
    refusal = json.loads(reply(Asked(7, "roots/list")))
    assert (refusal["id"], refusal["error"]["code"]) == (7, -32601)
