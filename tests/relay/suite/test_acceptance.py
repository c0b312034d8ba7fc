"""Whether a value is valid is told as an independent validator tells it, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given

from relay.suite.acceptance import FORMATS, Acceptance
from relay.suite.document import Json
from relay.suite.json_schema import DEEPEST, Schemas
from tests.relay.suite.schemas import SAMPLES, Schema, exhaustive, is_valid, schemas


@exhaustive
@given(schemas())
def test_what_is_certain_is_what_an_independent_validator_says(schema: Schema) -> None:
    acceptance = Acceptance(Schemas(schema))
    for value in SAMPLES:
        verdict = acceptance.valid(schema, value)
        if verdict is not None:
            assert verdict is is_valid(schema, value), value


@pytest.mark.parametrize(
    ("schema", "value", "verdict"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, True, False),
        ({"const": 1}, 1.0, True),
        ({"multipleOf": 0.1}, 0.3, None),
        ({"multipleOf": 0.5}, 1, True),
        ({"multipleOf": 2}, 3, False),
        ({"pattern": "(a+)+$"}, "a" * 60 + "!", None),
        ({"multipleOf": 2}, float("inf"), None),
        ({"pattern": "a"}, 5, True),
        ({"pattern": "a", "minLength": 9}, "b", False),
        ({"format": "email"}, FORMATS["email"], True),
        ({"format": "email"}, "no address", None),
        ({"format": 5}, "a", None),
        ({"patternProperties": {"a": False}}, {"b": 1}, None),
        ({"patternProperties": {"a": False}, "minProperties": 2}, {"b": 1}, False),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, False),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, False),
        ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, True),
        ({"contains": {}}, [1], None),
        ({"anyOf": [{"pattern": "a"}, {"type": "string"}]}, "b", True),
        ({"anyOf": [{"pattern": "a"}, {"type": "null"}]}, "b", None),
        ({"oneOf": [{}, {}, {"pattern": "a"}]}, "b", False),
        ({"oneOf": [{}, {"pattern": "a"}]}, "b", None),
        ({"not": {"pattern": "a"}}, "b", None),
        ({"if": {"pattern": "a"}, "then": {"minLength": 1}}, "", None),
        ({"if": {"pattern": "a"}, "then": False, "else": False}, "", False),
        ({"$ref": "elsewhere.json"}, 1, None),
        ({"type": "text"}, 1, None),
        ({"x-unknown": 1}, 1, True),
        ({"$ref": "#"}, 1, None),
        (True, 1, True),
        (False, 1, False),
        (5, 1, None),
    ],
)
def test_what_is_not_looked_at_is_not_known(schema: Json, value: Json, verdict: object) -> None:
    assert Acceptance(Schemas(schema)).valid(schema, value) is verdict


def test_beside_a_reference_an_old_draft_has_nothing() -> None:
    draft = "http://json-schema.org/draft-07/schema#"
    inner: Schema = {"$ref": "#/definitions/x", "maxLength": 1}
    schema = {"$schema": draft, "items": inner, "definitions": {"x": {"type": "string"}}}
    assert Acceptance(Schemas(schema)).valid(schema, ["long"]) is True
    del schema["$schema"]
    assert Acceptance(Schemas(schema)).valid(schema, ["long"]) is False


def test_a_value_that_goes_too_deep_is_not_known() -> None:
    schema: Schema = {"items": {"$ref": "#"}}
    value: Json = 1
    for _ in range(20 * DEEPEST):
        value = [value]
    assert Acceptance(Schemas(schema)).valid(schema, value) is None
