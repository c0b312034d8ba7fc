"""References of a schema are followed, its alternatives told apart, and nonsense is refused."""

from __future__ import annotations

import pytest
from hypothesis import given

from relay.suite.document import Json
from relay.suite.json_schema import (
    MOST_STEPS,
    Schemas,
    Unanalysable,
    atoms,
    options,
    type_name,
    type_names,
)
from tests.relay.suite.examples import values
from tests.relay.suite.schemas import SAMPLES, Schema, exhaustive, is_valid, schemas


@exhaustive
@given(schemas())
def test_the_alternatives_of_a_schema_are_the_schema(schema: Schema) -> None:
    # What is not evaluated depends on the alternative, and so is no part of any.
    if "unevaluatedProperties" in str(schema):
        return
    branches = Schemas(schema).branches(schema)
    definitions = {"$defs": schema["$defs"]}
    for value in SAMPLES:
        of_one = any(is_valid({**branch, **definitions}, value) for branch in branches)
        assert of_one is is_valid(schema, value), value


@exhaustive
@given(schemas())
def test_a_valid_value_is_of_a_type_that_its_schema_allows(schema: Schema) -> None:
    allowed = frozenset().union(*map(atoms, Schemas(schema).branches(schema, loose=True)))
    types = type_names(allowed) or ["never"]
    for value in SAMPLES:
        if is_valid(schema, value):
            assert any(is_valid({"type": name}, value) for name in types), value


@exhaustive
@given(values)
def test_any_value_is_a_schema_or_refused(value: Json) -> None:
    for keyword in ("type", "enum", "required", "properties", "$ref", "anyOf", "allOf", "items"):
        schema = {keyword: value, "x": value}
        try:
            Schemas(schema).branches(schema)
        except Unanalysable as error:
            assert str(error)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "other.json"}, '$ref is "other.json", which is outside of the schema'),
        ({"$ref": 5}, "$ref is 5, which is outside of the schema"),
        ({"$ref": "#name"}, '$ref is "#name", which is no path'),
        ({"$ref": "#/$defs/x"}, '$ref is "#/$defs/x", where nothing is'),
        ({"$ref": "#/allOf/7", "allOf": [{}]}, '$ref is "#/allOf/7", where nothing is'),
        ({"$ref": "#"}, "it contains itself"),
        ({"anyOf": [{"$ref": "#"}]}, "it is nested too deeply, or too large"),
        ({"type": "text"}, '"type" is "text"'),
        ({"minLength": -1}, '"minLength" is -1'),
        ({"maximum": "3"}, '"maximum" is "3"'),
        ({"multipleOf": 0}, '"multipleOf" is 0'),
        ({"allOf": [7]}, "it is 7 and no schema"),
    ],
)
def test_a_schema_that_is_not_understood_is_refused_with_the_reason(
    schema: Schema, why: str
) -> None:
    with pytest.raises(Unanalysable) as caught:
        Schemas(schema).branches(schema)
    assert str(caught.value) == why


def test_a_schema_that_grows_without_end_is_refused() -> None:
    # Each of thirty definitions has two of the next: a billion alternatives.
    definitions = {
        f"d{index}": {
            "anyOf": [{"$ref": f"#/$defs/d{index + 1}"}, {"$ref": f"#/$defs/d{index + 1}"}]
        }
        for index in range(30)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**definitions, "d30": {"type": "null"}}}
    assert MOST_STEPS < 2**30
    with pytest.raises(Unanalysable, match="too large"):
        Schemas(schema).branches(schema)


def test_a_reference_is_a_path_with_escapes() -> None:
    schema = {"$defs": {"a/b~c d": [{"type": "null"}]}}
    assert Schemas(schema).target("#/$defs/a~1b~0c%20d/0") == {"type": "null"}
    assert Schemas(schema).target("#") is schema


def test_what_is_said_beside_a_reference_comes_first() -> None:
    schema = {"$ref": "#/$defs/x", "title": "a", "$defs": {"x": {"title": "b", "type": "null"}}}
    [branch] = Schemas(schema).branches(schema)
    assert (branch["title"], branch["type"]) == ("a", "null")


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        (
            {"properties": {"a": {"type": "null"}}},
            {"properties": {"a": {"type": "null"}, "b": {}}},
            {"properties": {"a": {"type": "null"}, "b": {}}},
        ),
        ({"minLength": 1, "title": "x"}, {"minLength": 1, "title": "y"}, {"minLength": 1}),
        ({"properties": {"a": {}}}, {"properties": {"a": {"type": "null"}}}, None),
        ({"properties": {"a": {}}}, {"additionalProperties": False}, None),
        ({"items": {}}, {"prefixItems": [{}]}, None),
        ({"properties": {"a": {}}}, {"unevaluatedProperties": False}, None),
        ({"minLength": 1}, {"minLength": 2}, None),
    ],
)
def test_parts_are_joined_where_that_says_the_same(
    one: Schema, other: Schema, joined: Schema | None
) -> None:
    schema = {**one, "allOf": [other]}
    [branch] = Schemas(schema).branches(schema)
    branch.pop("title", None)
    assert branch == (schema if joined is None else joined)


def test_types_are_named_as_json_schema_names_them() -> None:
    assert type_name(frozenset(("integer", "fraction"))) == "number"
    assert type_name(frozenset(("fraction",))) is None
    assert type_names(frozenset(("integer", "fraction", "null"))) == ["null", "number"]


def test_the_values_left_over_are_those_of_const_enum_and_type() -> None:
    assert options({"enum": [1, "a", 1.5, True], "type": "integer"}) == [1]
    assert options({"const": 1, "enum": [2, 1.0]}) == [1]
    assert options({"const": 1, "enum": [2]}) == []
    assert options({"type": "string"}) is None
