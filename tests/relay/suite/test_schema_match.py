"""A value matches a response schema as recorded, and as JSON Schema itself has it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from relay.suite.document import Json, parse
from relay.suite.schema_match import describe, matched
from relay.suite.validation import validate
from tests.relay.suite.examples import body, call, numbers, suite, values
from tests.relay.suite.vectors import Vector, lines, on_each

Schema = dict[str, Any]


@on_each("schema_match")
def test_a_value_has_the_recorded_violations(vector: Vector) -> None:
    schema: Any = parse(vector["schema"])
    found = matched(schema, parse(vector["value"]))
    assert found.total == vector["total"]
    assert [
        {"code": one.code, "path": one.path, "expected": one.expected} for one in found.violations
    ] == vector["violations"]
    assert (found.total == 0) is not bool(found.violations)


texts = st.text("ab\U0001f600", max_size=3)
names = st.sampled_from(["a", "b", "0"])


def schemas() -> st.SearchStrategy[Schema]:
    """Response schemas of every keyword."""
    leaf = st.one_of(
        st.fixed_dictionaries({"type": st.sampled_from(["boolean", "null"])}),
        st.fixed_dictionaries({"const": values}),
        st.fixed_dictionaries({"enum": st.lists(values, min_size=1, max_size=3)}),
        st.fixed_dictionaries(
            {"type": st.just("string")},
            optional={
                "minLength": st.integers(0, 3),
                "maxLength": st.integers(0, 3),
                "stringContains": texts.filter(bool),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.sampled_from(["number", "integer"])},
            optional={"minimum": numbers, "maximum": numbers, "enum": st.lists(values, min_size=1)},
        ),
    )
    return st.recursive(leaf, _containers, max_leaves=8)


def _containers(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.fixed_dictionaries(
        {"type": st.just("array")}, optional={"minItems": st.integers(0, 3), "items": inner}
    ) | st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "required": st.lists(names, min_size=1, max_size=3),
            "properties": st.dictionaries(names, inner, min_size=1, max_size=3),
            "additionalProperties": st.booleans() | inner,
        },
    )


def candidates() -> st.SearchStrategy[Json]:
    """Values that such schemas are about."""
    leaf = st.none() | st.booleans() | numbers | texts
    return st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3)
    )


def as_json_schema(schema: Schema) -> Schema:
    """The same schema in keywords of JSON Schema alone."""
    translated = dict(schema)
    if "stringContains" in schema:
        translated["pattern"] = re.escape(translated.pop("stringContains"))
    if "properties" in schema:
        members = schema["properties"].items()
        translated["properties"] = {name: as_json_schema(member) for name, member in members}
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            translated[keyword] = as_json_schema(schema[keyword])
    return translated


@given(schemas(), candidates() | values)
@example({"const": 1}, True)
@example({"enum": [False]}, 0)
@example({"const": [1, {"a": 0}]}, [1.0, {"a": False}])
@example({"type": "integer", "minimum": 2}, 2.0)
@example({"type": "string", "maxLength": 1}, "\U0001f600")
@example({"type": "string", "stringContains": "a"}, "bab")
def test_a_value_matches_where_it_is_valid_json_schema_and_nowhere_else(
    schema: Schema, value: Json
) -> None:
    assume(validate(suite(call(body(schema)))) == [])
    oracle = Draft202012Validator(as_json_schema(schema))
    assert (matched(schema, value).total == 0) is oracle.is_valid(value)


@given(schemas(), st.data())
def test_a_value_matches_a_schema_that_is_this_value(schema: Schema, data: st.DataObject) -> None:
    value = data.draw(values)
    assert matched({"const": value}, value).total == 0
    assert matched({"enum": [schema, value]}, value).total == 0


def test_violations_inside_come_before_what_is_additional_outside() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"x": {"const": 1}},
                "additionalProperties": False,
            }
        },
        "additionalProperties": {"type": "array", "minItems": 1},
        "required": ["q"],
    }
    found = matched(schema, {"z": [], "a": {"y": 1, "x": 2}, "k": 1})
    assert lines(found.violations) == [
        "REQUIRED_MISSING $",
        "CONST_MISMATCH $.a.x",
        "ADDITIONAL_PROPERTY $.a.y",
        "TYPE_MISMATCH $.k",
        "MIN_ITEMS $.z",
    ]


@pytest.mark.parametrize(
    ("part", "text", "found"),
    [
        ("\ud83d", "\U0001f600", True),
        ("\ude00", "a\U0001f600", True),
        ("\ude00\U0001f600", "\U0001f600\U0001f600", True),
        ("\ude01", "\U0001f600", False),
        ("\ud83d", "\ud83d", True),
    ],
)
def test_half_a_surrogate_pair_is_a_part_of_its_character(
    part: str, text: str, found: bool
) -> None:
    schema: Schema = {"type": "string", "stringContains": part}
    assert (matched(schema, text).total == 0) is found


@pytest.mark.parametrize("levels", [5_000, 50_000])
def test_no_depth_is_too_deep(levels: int) -> None:
    nested = parse("[" * levels + "1" + "]" * levels)
    other = parse("[" * levels + "2" + "]" * levels)
    assert matched({"const": nested}, nested).total == 0
    assert matched({"const": nested}, other).total == 1
    items: Any = parse('{"type":"array","items":' * levels + '{"const":2}' + "}" * levels)
    found = matched(items, nested)
    assert found.violations[0].path == "$" + "[0]" * levels
    assert matched(items, other).total == 0


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, {"a": 1}, 'expected the type "integer", got an object with 1 member'),
        ({"const": {"a": 1}}, [1, 2], 'expected {"a":1}, got [1,2]'),
        ({"enum": [1, 2]}, "x", 'expected one of [1,2], got "x"'),
        ({"type": "object", "required": ["q"]}, {}, '"q" is missing; there is nothing'),
        (
            {"type": "object", "required": ["q"]},
            {"b": 1, "a": 2},
            '"q" is missing; there is "a", "b"',
        ),
        ({"type": "object", "additionalProperties": False}, {"b": 1}, "not allowed, got 1"),
        ({"type": "array", "minItems": 2}, [1], "expected at least 2 items, got 1"),
        ({"type": "string", "minLength": 2}, "a", "expected at least 2 characters, got 1"),
        ({"type": "string", "maxLength": 2}, "abc", "expected at most 2 characters, got 3"),
        (
            {"type": "string", "stringContains": "x"},
            "a\n",
            'expected a text with "x" in it, got "a\\n"',
        ),
        ({"type": "number", "minimum": 1}, 0.5, "expected 1 or more, got 0.5"),
        ({"type": "number", "maximum": 1}, 1e21, "expected 1 or less, got 1e+21"),
    ],
)
def test_a_violation_is_told_in_words(schema: Schema, value: Json, text: str) -> None:
    [violation] = matched(schema, value).violations
    assert describe(violation) == text


def test_a_violation_in_words_has_a_bounded_length() -> None:
    many: Json = {f"member {number}": number for number in range(1000)}
    [missing] = matched({"type": "object", "required": ["q"]}, many).violations
    assert describe(missing).endswith("and 980 more")
    [other] = matched({"const": "y" * 9999}, "x" * 9999).violations
    assert len(describe(other)) < 600


def test_each_schema_has_options_of_its_own() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {"a": {"enum": [1]}, "b": {"enum": [2]}, "c": {"const": 3, "enum": [3, 4]}},
    }
    assert matched(schema, {"a": 1, "b": 2, "c": 3}).total == 0
    assert lines(matched(schema, {"a": 2, "b": 1, "c": 4}).violations) == [
        "ENUM_MISMATCH $.a",
        "ENUM_MISMATCH $.b",
        "CONST_MISMATCH $.c",
    ]


def test_an_enum_of_many_is_compared_once_for_each_item() -> None:
    """In a nested loop this would be 25 million comparisons."""
    options: list[Json] = [{"number": number} for number in range(5000)]
    schema: Schema = {"type": "array", "items": {"enum": options}}
    assert matched(schema, options[::-1]).total == 0
