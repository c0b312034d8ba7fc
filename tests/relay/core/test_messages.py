"""The envelope: what is a message, what is none, and what every line out looks like."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.core import messages
from relay.core.errors import Malformed, Problem
from relay.core.messages import Kind, RequestId, parse_client, parse_server

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


def refusal(line: bytes) -> tuple[int, bytes | None]:
    with pytest.raises(Malformed) as caught:
        parse_client(line)
    return caught.value.problem.code, caught.value.request_id


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Kind.REQUEST),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', Kind.NOTIFICATION),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', Kind.RESPONSE),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}', Kind.RESPONSE),
    ],
)
def test_a_message_is_one_of_three_kinds(line: bytes, kind: Kind) -> None:
    message = parse_client(line)
    assert message.kind is kind
    assert message.raw == line


def test_a_byte_order_mark_and_outer_white_space_are_tolerated() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert parse_client(b"\xef\xbb\xbf \t" + line + b"\r").raw == line


@pytest.mark.parametrize(
    "text", ["0", "-7", "1180591620717411303424", "9" * 5000, '"7"', '""', '"a b"']
)
def test_an_id_keeps_its_type_and_all_its_digits(text: str) -> None:
    message = parse_client(f'{{"jsonrpc":"2.0","id":{text},"method":"m"}}'.encode())
    assert message.request_id == text.encode()


def test_one_string_written_in_two_ways_is_one_id() -> None:
    plain = parse_client('{"jsonrpc":"2.0","id":"é","method":"m"}'.encode())
    escaped = parse_client(b'{"jsonrpc":"2.0","id":"\\u00e9","method":"m"}')
    assert plain.request_id == escaped.request_id


@pytest.mark.parametrize("text", ["null", "1.0", "1e3", "true", "{}", "[1]"])
def test_an_id_of_any_other_type_is_refused(text: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":{text},"method":"m"}}'.encode()
    assert refusal(line) == (-32600, None)


@pytest.mark.parametrize(
    "line",
    [
        b"{bad",
        b'{"jsonrpc":"2.0","id":1',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}',
    ],
    ids=["text", "cut short", "NaN", "a stray byte", "an encoded surrogate"],
)
def test_what_is_not_json_in_utf8_is_a_parse_error(line: bytes) -> None:
    assert refusal(line) == (-32700, None)


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b"7", None),
        (b'"text"', None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', None),
        (b'{"id":1,"method":"m"}', b"1"),
        (b'{"jsonrpc":"1.0","id":"x","method":"m"}', b'"x"'),
        (b'{"jsonrpc":"2.0","id":1}', b"1"),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', b"1"),
        (b'{"jsonrpc":"2.0","id":1,"method":""}', b"1"),
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', b"1"),
        (b'{"jsonrpc":"2.0","result":1}', None),
        (b'{"jsonrpc":"2.0","id":null,"result":1}', None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(
    line: bytes, request_id: bytes | None
) -> None:
    assert refusal(line) == (-32600, request_id)


def test_the_id_of_a_message_too_deep_to_parse_is_found() -> None:
    head = b'{"jsonrpc":"2.0","params":{"id":5,"s":"\\"id\\":6","a":' + deep(200_000) + b"}"
    assert refusal(head + b',"id":"q","method":"m"}') == (-32600, b'"q"')
    assert refusal(head + b',"method":"m"}') == (-32600, None)


def opened(value: msgspec.Raw | None, down: int = 40) -> int:
    """How deep a value nests, found out by opening it from further down the stack."""
    if down:
        return opened(value, down - 1)
    levels = 0
    while inner := messages.items_of(value) or list((messages.fields_of(value) or {}).values()):
        value = inner[0]
        levels += 1
    return levels


@pytest.mark.parametrize("objects", [0, 1, 2, 3])
@pytest.mark.parametrize("blanks", [0, 10_000], ids=["short", "long"])
def test_what_is_accepted_can_be_opened_from_further_down_the_stack(
    objects: int, blanks: int
) -> None:
    """Every ``objects``-th level is an object; by length it is decided how depth is looked at."""
    accepted = []
    depths = [*range(1, 140), *range(700, 1100, 7)]  # the interpreter's limit is about 1000
    for levels in depths:
        is_object = [objects > 0 and level % objects == 0 for level in range(levels)]
        begin = b"".join(b'{"a":' if each else b"[" for each in is_object)
        end = b"".join(b"}" if each else b"]" for each in reversed(is_object))
        head = b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b" " * blanks
        try:
            message = parse_client(head + begin + b"1" + end + b"}")
        except Malformed as refused:
            assert (refused.problem.code, refused.request_id) == (-32600, b"1")
        else:
            assert opened(message.params) == levels
            accepted.append(levels)
    assert accepted == depths[: len(accepted)]
    assert accepted[-1] > 700


def test_a_lone_surrogate_escape_is_kept_and_reads_as_the_replacement_character() -> None:
    line = (
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\\ud800 \\\\ud800 \\ud83d\\ude00"}}'
    )
    message = parse_client(line)
    assert message.raw == line
    assert message.params is not None
    assert msgspec.json.decode(message.params) == {"a": "\ufffd \\ud800 😀"}


@given(value=JSON_VALUES, indent=st.sampled_from([None, 1, 4]), ascii_only=st.booleans())
def test_whatever_the_servers_layout_a_line_comes_out_that_means_the_same(
    value: Any, indent: int | None, ascii_only: bool
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "result": value}
    text = json.dumps(message, indent=indent, ensure_ascii=ascii_only)
    (parsed,) = parse_server(text.replace("\n", "\r\n").encode())
    assert not set(parsed.raw.decode()) & set("\n\r\u2028\u2029")
    assert json.loads(parsed.raw) == message


def test_numbers_and_duplicate_blanks_of_a_compact_message_stay_byte_for_byte() -> None:
    text = b'{"jsonrpc": "2.0",  "id": 1, "result": {"a": 1.10, "b": 1e400, "c": -0}}'
    assert parse_server(text)[0].raw == text


def test_a_pretty_printed_message_with_a_lone_surrogate_is_still_a_line() -> None:
    (message,) = parse_server(b'{"jsonrpc":"2.0",\n"id":1,\n"result":{"a":"\\udc00"}}')
    assert json.loads(message.raw)["result"] == {"a": "\ufffd"}


def test_a_batch_of_the_server_is_taken_apart() -> None:
    batch = b'[{"jsonrpc":"2.0","method":"n"},\n {"jsonrpc":"2.0","id":1,"result":{}}]'
    assert [message.kind for message in parse_server(batch)] == [Kind.NOTIFICATION, Kind.RESPONSE]


@pytest.mark.parametrize(
    "data",
    [b"<html>", b"[1", b"[7]", b"{\n", b"\xff", b"[\n" + deep(5000) + b"]", b"[" + deep(5000)],
)
def test_server_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse_server(data)


@given(text=st.text(), number=st.integers())
def test_lines_of_the_relays_own_are_lines_too(text: str, number: int) -> None:
    request_id = RequestId(str(number).encode())
    for line in (
        messages.failure(request_id, Problem(1, text, {"t": text})),
        messages.result(request_id, {"t": text}),
        messages.request(request_id, "m", {"t": msgspec.Raw(msgspec.json.encode(text))}),
        messages.notification("m", {"t": msgspec.Raw(msgspec.json.encode(text))}),
    ):
        assert not set(line.decode()) & set("\n\r\u2028\u2029")
        assert parse_client(line).request_id in (request_id, None)


def test_an_error_without_an_id_has_the_id_null() -> None:
    assert json.loads(messages.failure(None, Problem(-1, "m"))) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -1, "message": "m"},
    }


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ('{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}', "2026-07-28"),
        ('{"_meta":{"io.modelcontextprotocol\\/protocolVersion":"v"}}', "v"),
        ('{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}', ""),
        ('{"_meta":{"progressToken":1}}', None),
        ('{"_meta":[]}', None),
        ("{}", None),
        ("[]", None),
        ("null", None),
    ],
)
def test_the_version_key_alone_makes_a_request_modern(params: str, expected: str | None) -> None:
    line = f'{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}'.encode()
    assert messages.protocol_version_of(parse_client(line)) == expected


def test_initialize_is_legacy_whatever_it_carries() -> None:
    params = '{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'
    line = f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}'.encode()
    assert messages.protocol_version_of(parse_client(line)) is None


@pytest.mark.parametrize("error", [b"7", b'{"message":"no code"}', b'{"code":"x"}'])
def test_an_error_that_is_none_has_no_code(error: bytes) -> None:
    assert messages.problem_of(msgspec.Raw(error)) is None
    assert messages.problem_of(None) is None


@pytest.mark.parametrize("text", [b"null", b"7", b'"a"', b"[1]", b'{"a":1}'])
def test_a_value_of_another_kind_reads_as_nothing(text: bytes) -> None:
    raw, value = msgspec.Raw(text), json.loads(text)
    assert messages.text_of(raw) == (value if isinstance(value, str) else None)
    assert len(messages.items_of(raw)) == (len(value) if isinstance(value, list) else 0)
    assert (messages.fields_of(raw) is None) == (not isinstance(value, dict))


def test_no_value_reads_as_nothing() -> None:
    assert messages.text_of(None) is None
    assert messages.items_of(None) == []
    assert messages.fields_of(None) is None


@pytest.mark.parametrize("value", [b'"\\ud800"', b'"\\q"', b'"\x01"', b'"open'])
def test_an_id_behind_what_is_too_deep_may_be_anything(value: bytes) -> None:
    head = b'{"jsonrpc":"2.0","method":"m","params":' + deep(200_000)
    assert refusal(head + b',"id":' + value + b"}") == (-32600, None)


def test_a_deep_message_with_an_endless_string_takes_no_longer_than_others() -> None:
    """Quadratic work would take an hour here, and the test's time limit ends it."""
    assert refusal(deep(200_000)[:200_000] + b'"' + b'\\"' * 200_000) == (-32600, None)


def test_messages_of_the_relays_own_making_are_what_they_would_be_read_as() -> None:
    params = {"a": msgspec.Raw('{"b":["\u2028"]}'.encode())}
    request = messages.new_request(RequestId(b'"r"'), "m", params)
    assert request == parse_client(request.raw)
    notification = messages.new_notification("n", params)
    assert notification == parse_client(notification.raw)
