"""A document is written so that people read it and files can be compared."""

from __future__ import annotations

import json

from hypothesis import given

from relay.suite.document import Json, parse
from relay.suite.pretty import pretty
from tests.relay.suite.examples import values
from tests.relay.suite.schemas import exhaustive


@exhaustive
@given(values)
def test_what_is_written_is_read_again(value: Json) -> None:
    assert parse(pretty(value)) == value
    assert parse(pretty(value, ordered=True)) == value


def test_a_document_has_a_line_for_each_member_and_item() -> None:
    document: Json = {"b": [1, {"ü": None}], "a": {}, "c": []}
    assert pretty(document) == json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def test_members_are_put_in_order_if_that_is_asked_for() -> None:
    one = pretty({"b": {"d": 1, "c": 2}, "a": [2, 1]}, ordered=True)
    assert one == pretty({"a": [2, 1], "b": {"c": 2, "d": 1}}, ordered=True)
    assert one.index('"a"') < one.index('"b"')


def test_a_number_and_half_of_a_pair_are_written_as_ecmascript_writes_them() -> None:
    assert pretty([1e21, "\ud800"]) == '[\n  1e+21,\n  "\\ud800"\n]\n'


def test_a_document_may_be_of_any_depth() -> None:
    value: Json = 1
    for _ in range(3000):
        value = [value]
    assert pretty(value).strip().endswith("]")
