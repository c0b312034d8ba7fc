"""A response schema says as much of an output schema as it can, and refuses nothing valid."""

from __future__ import annotations

import pytest
from hypothesis import given

from relay.suite.document import Json, Object
from relay.suite.issues import Issues
from relay.suite.json_schema import DEEPEST, Schemas
from relay.suite.reduction import reduced
from relay.suite.schema_match import matched
from relay.suite.schema_validation import check_schema
from relay.suite.walk import Path, run
from tests.relay.suite.schemas import SAMPLES, Schema, exhaustive, is_valid, schemas


def reduction(schema: Json) -> Object | None:
    return reduced(Schemas(schema), schema)


@exhaustive
@given(schemas())
def test_a_valid_value_matches_the_response_schema(schema: Schema) -> None:
    said = reduction(schema)
    if said is not None:
        issues = Issues()
        run(check_schema(issues, Path(), said))
        assert not issues.found
        for value in SAMPLES:
            if is_valid(schema, value):
                assert not matched(said, value).total, value


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": {"type": "string", "minLength": 1, "maxLength": 3},
                "b": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
                "c": {"type": "number", "maximum": 1.5},
                "d": {"type": "string", "enum": ["x", "y"]},
            },
            "additionalProperties": False,
        },
        {"type": "object", "additionalProperties": {"type": "null"}},
        {"type": "boolean"},
    ],
)
def test_what_a_suite_can_say_is_said_as_it_is(schema: Schema) -> None:
    assert reduction(schema) == schema


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, None),
        (True, None),
        ({"type": ["string", "null"]}, None),
        ({"properties": {"a": {"type": "null"}}}, None),
        ({"type": "string", "pattern": "a"}, {"type": "string"}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        (
            {"anyOf": [{"const": "a"}, {"const": "b"}]},
            {"type": "string", "enum": ["a", "b"]},
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, {"type": "number"}),
        ({"enum": [1, float("inf")]}, {"type": "number"}),
        ({"enum": [1, 1.5, {}]}, {"enum": [1, 1.5, {}]}),
        (
            {"type": "integer", "exclusiveMinimum": 0, "minimum": -1, "exclusiveMaximum": 9},
            {"type": "integer", "minimum": 0, "maximum": 9},
        ),
        (
            {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
            {"type": "object"},
        ),
        (
            {"type": "object", "patternProperties": {"a": {}}, "additionalProperties": False},
            {"type": "object"},
        ),
        ({"type": "object", "required": [" ", "a", "a"]}, {"type": "object", "required": ["a"]}),
        ({"type": "array", "prefixItems": [{}], "items": {"type": "null"}}, {"type": "array"}),
        (
            {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"type": "object"},
        ),
        ({"type": "text"}, None),
        (
            {"type": "array", "items": {"$ref": "#"}, "minItems": 2},
            {"type": "array", "items": {"type": "array", "minItems": 2}, "minItems": 2},
        ),
    ],
)
def test_what_a_suite_cannot_say_is_left_out(schema: Json, said: Object | None) -> None:
    assert reduction(schema) == said


def test_a_schema_that_is_too_deep_is_followed_as_far_as_it_can_be() -> None:
    schema: Schema = {"type": "null"}
    for _ in range(5 * DEEPEST):
        schema = {"type": "array", "items": schema}
    said = reduction(schema)
    assert said is not None
    assert said["type"] == "array"
