"""One value has one canonical text, and a suite one fingerprint."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.suite.canonical import canonical, compact, fingerprint, number_text
from relay.suite.document import Json, parse
from tests.relay.suite.examples import call, suite, values
from tests.relay.suite.vectors import Vector, on_each


@on_each("fingerprints")
def test_a_suite_has_the_recorded_fingerprint(vector: Vector) -> None:
    document: Any = parse(vector["text"])
    assert fingerprint(document) == vector["sha256"]
    document.pop("approval", None)
    assert canonical(document) == vector["canonical"]


@given(values, st.randoms(use_true_random=False))
def test_order_and_white_space_do_not_matter(value: Json, random: Any) -> None:
    shuffled = _shuffled(value, random)
    text = json.dumps(
        shuffled, indent=random.choice([None, 0, 3]), ensure_ascii=random.random() < 0.5
    )
    assert canonical(parse(text)) == canonical(value)


def _shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, list):
        return [_shuffled(item, random) for item in value]
    if isinstance(value, dict):
        names = list(value)
        random.shuffle(names)
        return {name: _shuffled(value[name], random) for name in names}
    return value


@given(values)
def test_a_canonical_text_is_json_and_canonical_again(value: Json) -> None:
    text = canonical(value)
    assert canonical(parse(text)) == text
    assert text.encode() == text.encode("utf-8", "surrogatepass")


@given(values)
def test_a_compact_text_keeps_the_order_of_members(value: Json) -> None:
    assert compact(parse(compact(value))) == compact(value)


@given(values, values)
def test_only_equal_values_have_one_text(one: Json, other: Json) -> None:
    def typed(value: Any) -> Any:
        if isinstance(value, list):
            return [typed(item) for item in value]
        if isinstance(value, dict):
            return {name: typed(member) for name, member in value.items()}
        return (isinstance(value, bool), value)

    assert (canonical(one) == canonical(other)) is (typed(one) == typed(other))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (1.25e-7, "1.25e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (123456789012345680000.0, "123456789012345680000"),
        (12345678901234567890, "12345678901234567000"),
        (9007199254740992, "9007199254740992"),
        (9007199254740993, "9007199254740992"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.000123, "0.000123"),
        (120.5, "120.5"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_a_number_is_written_as_ecmascript_writes_it(number: float, text: str) -> None:
    assert number_text(number) == text


@given(st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0]))
def test_a_number_reads_back_as_the_same_double(number: float) -> None:
    if math.isfinite(number):
        assert float(number_text(number)) == number
        assert len(number_text(abs(number))) <= 26


def test_names_are_sorted_by_utf16() -> None:
    members = {"\ufffd": 1, "\U0001f600": 2, "z": 3, "10": 4, "9": 5, chr(0xD800): 6, "": 7}
    assert canonical(members) == ('{"":7,"10":4,"9":5,"z":3,"\\ud800":6,"\U0001f600":2,"\ufffd":1}')


def test_strings_are_escaped_as_little_as_json_allows() -> None:
    assert canonical('\x00\x08\t\n\x0c\r"\\/\x7f\u2028\udfff') == (
        '"\\u0000\\b\\t\\n\\f\\r\\"\\\\/\x7f\u2028\\udfff"'
    )


def test_only_the_approval_of_the_suite_is_left_out_of_its_fingerprint() -> None:
    plain, approved = suite(call()), suite(call(), approval={"fingerprint": "x"})
    assert fingerprint(plain) == fingerprint(approved)
    assert fingerprint(plain) != fingerprint(suite(call(timeoutMs=10_000)))
    assert fingerprint(plain) != fingerprint(suite(call(approval=1)))
    assert fingerprint(plain) == hashlib.sha256(canonical(plain).encode()).hexdigest()


@pytest.mark.parametrize("levels", [5_000, 100_000])
def test_no_depth_is_too_deep(levels: int) -> None:
    text = '{"b":0,"a":[' * levels + "]}" * levels
    assert canonical(parse(text)) == '{"a":[' * levels + '],"b":0}' * levels


def test_what_is_no_json_value_is_an_error_of_the_caller() -> None:
    with pytest.raises(TypeError, match="not a JSON value: set"):
        canonical([{1}])
