"""JSON text means what it means to ECMAScript, and an error in it has a place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relay.suite.canonical import compact
from relay.suite.document import Json, NotUtf8, decode, parse
from relay.suite.reader import InvalidJson, Reader
from tests.relay.suite.examples import values


def same(one: Json, other: Json) -> bool:
    """Equal, and of the same types and order."""
    return compact(one) == compact(other) and repr(one) == repr(other)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1),
        ("1e2", 100),
        ("-0.0", 0),
        ("9007199254740991", 2**53 - 1),
        ("9007199254740992", 2.0**53),
        ("12345678901234567890", 12345678901234567168.0),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("0.1", 0.1),
        ("9" * 5000, math.inf),
        ('{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
        ('"\\ud800"', "\ud800"),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\u2028\x7f"', "\u2028\x7f"),
        (" \r\n\t[ true , false , null ] ", [True, False, None]),
        ('{"__proto__": {}}', {"__proto__": {}}),
    ],
)
def test_a_text_is_read_as_ecmascript_reads_it(text: str, value: Json) -> None:
    assert same(parse(text), value)
    assert same(Reader(text).read(), value)


@pytest.mark.parametrize("read", [parse, lambda text: Reader(text).read()])
def test_members_named_like_indexes_come_first_in_ascending_order(read: Any) -> None:
    text = '{"b": 0, "10": 1, "2": 2, "01": 3, "4294967294": 4, "4294967295": 5, "-1": 6, "2": 7}'
    assert list(read(text).items()) == [
        ("2", 7),
        ("10", 1),
        ("4294967294", 4),
        ("b", 0),
        ("01", 3),
        ("4294967295", 5),
        ("-1", 6),
    ]


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("", (1, 1), "expected a value, got the end of the text", "the text is not complete"),
        ('{"a": 1', (1, 8), 'expected "," or "}", got the end of the text', "not complete"),
        ('{\r\n "a": NaN}', (2, 7), 'expected a value, got "NaN"', "no NaN"),
        ("[\n\n-Infinity]", (3, 1), 'expected a value, got "-"', "no NaN and no Infinity"),
        ("[1,\r]", (1, 3), 'a comma before "]"', "remove it"),
        ('{"a": 1,}', (1, 8), 'a comma before "}"', "remove it"),
        ("// x\n{}", (1, 1), 'expected a value, got "/"', "no comments"),
        ("{} /* x */", (1, 4), 'expected the end of the text, got "/"', "no comments"),
        ("{'a': 1}", (1, 2), 'expected a name in double quotes, got "\'"', "double quotes"),
        ('{"a" 1}', (1, 6), 'expected ":", got "1"', "10, -2.5 or 1e3"),
        ("{1: 2}", (1, 2), 'expected a name in double quotes, got "1"', "10, -2.5 or 1e3"),
        ("{} {}", (1, 4), 'expected the end of the text, got "{"', "keep one value in a file"),
        ("[01]", (1, 2), 'expected a value, got "01"', "no 01"),
        ("[.5]", (1, 2), 'expected a value, got "."', "no 01, .5"),
        ("[1.]", (1, 3), 'expected "," or "]", got "."', "1. or +1"),
        ("[True]", (1, 2), 'expected a value, got "True"', "write true"),
        ("[word]", (1, 2), 'expected a value, got "word"', "put a value here"),
        ('["a]', (1, 2), "a string is not closed", 'end it with "'),
        ('["\U0001f600\\x"]', (1, 4), '"\\\\x" is no escape', "write a backslash as"),
        ('["ab\n"]', (1, 5), "the control character U+000A in a string", "as \\n"),
        ('{"a\tb": 1}', (1, 4), "the control character U+0009 in a string", "as \\n"),
        ('"x" \ufeff', (1, 5), 'expected the end of the text, got "\ufeff"', "keep one"),
        ("[1 2]", (1, 4), 'expected "," or "]", got "2"', "10, -2.5"),
        ("{}\x00", (1, 3), 'expected the end of the text, got "\\u0000"', "keep one"),
        ("[\u00a01]", (1, 2), 'expected a value, got "\u00a0"', "put a value here"),
    ],
)
def test_an_error_has_a_place_and_a_remedy(
    text: str, place: tuple[int, int], message: str, hint: str
) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse(text)
    assert str(caught.value) == message
    assert caught.value.place == place
    assert hint in caught.value.hint


@pytest.mark.parametrize("levels", [5_000, 100_000])
def test_no_depth_is_too_deep(levels: int) -> None:
    value = parse("[" * levels + "]" * levels)
    for _ in range(levels - 1):
        [value] = value  # type: ignore[misc]  # one list inside another
    assert value == []


@pytest.mark.parametrize("levels", [5_000, 100_000])
def test_an_error_deep_inside_has_a_place(levels: int) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse('{"a":\n' * levels + "nul")
    assert caught.value.place == (levels + 1, 1)


def test_values_are_found_at_their_names_and_indexes() -> None:
    text = '{\n  "a": [1,\n    {"9": 1, "b": 2}],\n  "a b": 3}'
    reader = Reader(text)
    reader.read()
    paths: list[list[str | int]] = [[], ["a"], ["a", 0], ["a", 1], ["a", 1, "b"], ["a b"]]
    assert reader.places(paths) == [(1, 1), (2, 3), (2, 9), (3, 5), (3, 14), (4, 3)]


def test_what_is_not_there_is_found_where_it_would_be_inside() -> None:
    reader = Reader(' {"a": [1]}')
    reader.read()
    paths: list[list[str | int]] = [["b"], ["a", 5], ["a", 0, "c"], ["a", "x", "y"]]
    assert reader.places(paths) == [(1, 2), (1, 3), (1, 9), (1, 3)]


def test_of_two_members_with_one_name_the_last_is_found() -> None:
    reader = Reader('{"a": {"b": 1}, "a": {"b": 2}}')
    reader.read()
    assert reader.places([["a"], ["a", "b"]]) == [(1, 17), (1, 23)]


@pytest.mark.parametrize(
    ("data", "place", "hint"),
    [
        (b'{"a":\n "\xe9"}', (2, 3), "in another encoding"),
        (b'\xef\xbb\xbf"\xed\xa0\x80"', (1, 2), "in another encoding"),
        ('{"a"}'.encode("utf-16"), (1, 1), "UTF-16"),
        ('{"a"}'.encode("utf-16-be"), None, ""),
        ("\u00e9\U0001f600".encode() + b"\xff", (1, 3), "in another encoding"),
        ("\u00e9".encode()[:1], (1, 1), "in another encoding"),
    ],
)
def test_bytes_that_are_not_utf8_are_refused_at_their_place(
    data: bytes, place: tuple[int, int] | None, hint: str
) -> None:
    if place is None:
        with pytest.raises(InvalidJson):
            parse(decode(data))
        return
    with pytest.raises(NotUtf8) as caught:
        decode(data)
    assert caught.value.place == place
    assert hint in caught.value.hint


def test_one_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decode(b"\xef\xbb\xbf{}") == "{}"
    with pytest.raises(InvalidJson):
        parse(decode(b"\xef\xbb\xbf\xef\xbb\xbf{}"))


@st.composite
def texts(draw: st.DrawFn) -> str:
    """JSON texts, some of them damaged by a few characters."""
    value = draw(values)
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.none() | st.just(1)))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        end = at + draw(st.integers(0, 2))
        pieces = st.sampled_from(['"', "\\", "\\u", "d800", ",", ":", "[", "]", "{", "}", "-", "."])
        more = st.sampled_from(["0", "1e5", "true", "NaN", "\n", "\x1f", "\ufeff", "é", "\u2028"])
        text = text[:at] + draw(pieces | more) + text[end:]
    return text


def outcome(read: Any, text: str) -> str:
    try:
        return repr(read(text))
    except InvalidJson as error:
        return f"{error} at {error.place}"


@given(texts())
@example('{"1": 0, "0": 0}')
@example('"\\ud83d\\ud83d\\ude00"')
@example("-")
@example("1E+05")
def test_a_quick_reading_and_a_careful_one_agree(text: str) -> None:
    assert outcome(parse, text) == outcome(lambda one: Reader(one).read(), text)
