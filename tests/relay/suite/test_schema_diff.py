"""What a change of a schema does to its values is told as values themselves show it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from relay.suite.canonical import compact
from relay.suite.document import parse
from relay.suite.json_schema import DEEPEST
from relay.suite.schema_changes import Effect, SchemaChange, SchemaCode
from relay.suite.schema_diff import compare_schemas
from relay.suite.walk import Path
from tests.relay.suite.schemas import SAMPLES, Schema, closed, edits, exhaustive, is_valid, schemas

Told = tuple[str, str, str]
PLAIN: Schema = {"type": "string"}


def compared(old: object, new: object) -> list[SchemaChange]:
    return compare_schemas(Path() / "s", old, new)


def told(old: object, new: object) -> list[Told]:
    return [
        (change.code.value, change.effect.name, change.place.inside())
        for change in compared(old, new)
    ]


def fields(properties: Schema, *required: str, **others: object) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), **others}


@exhaustive
@given(edits())
def test_a_schema_that_is_not_told_to_narrow_takes_all_that_it_took(
    pair: tuple[Schema, Schema],
) -> None:
    old, new = pair
    effects = {change.effect for change in compared(old, new)}
    if not effects & {Effect.NARROWS, Effect.BREAKS}:
        declared = closed(old)
        for value in SAMPLES:
            if is_valid(old, value) and is_valid(declared, value):
                assert is_valid(new, value), value


@exhaustive
@given(edits())
def test_a_schema_that_is_not_told_to_widen_takes_nothing_else(pair: tuple[Schema, Schema]) -> None:
    old, new = pair
    effects = {change.effect for change in compared(old, new)}
    if not effects & {Effect.WIDENS, Effect.BREAKS}:
        for value in SAMPLES:
            if is_valid(new, value):
                assert is_valid(old, value), value


@exhaustive
@given(schemas())
def test_a_schema_does_not_differ_from_itself_read_again(schema: Schema) -> None:
    assert not compared(schema, parse(compact(schema)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (fields({}), fields({"a": PLAIN}), ("FIELD_ADDED", "EXTENDS", "s.properties.a")),
        (
            fields({}),
            fields({"a": PLAIN}, "a"),
            ("REQUIRED_FIELD_ADDED", "NARROWS", "s.properties.a"),
        ),
        (
            fields({}, additionalProperties=False),
            fields({"a": PLAIN}, additionalProperties=False),
            ("FIELD_ADDED", "WIDENS", "s.properties.a"),
        ),
        (
            fields({}, additionalProperties=False),
            fields({"a": PLAIN}, "a", additionalProperties=False),
            ("REQUIRED_FIELD_ADDED", "BREAKS", "s.properties.a"),
        ),
        (fields({"a": PLAIN}, "a"), fields({}), ("FIELD_REMOVED", "BREAKS", "s.properties.a")),
        (
            fields({"a": PLAIN}),
            fields({"a": PLAIN}, "a"),
            ("FIELD_REQUIRED", "NARROWS", "s.required"),
        ),
        (
            fields({"a": PLAIN}, "a"),
            fields({"a": PLAIN}),
            ("FIELD_OPTIONAL", "WIDENS", "s.required"),
        ),
        (
            fields({}),
            fields({}, additionalProperties=False),
            ("OTHER_FIELDS_REFUSED", "NARROWS", "s.additionalProperties"),
        ),
        (
            fields({}, additionalProperties=PLAIN),
            fields({}),
            ("OTHER_FIELDS_ALLOWED", "WIDENS", "s.additionalProperties"),
        ),
        (
            fields({}, additionalProperties=PLAIN),
            fields({}, additionalProperties={"type": "null"}),
            ("TYPE_CHANGED", "BREAKS", "s.additionalProperties.type"),
        ),
        ({"type": "number"}, {"type": "integer"}, ("TYPE_NARROWED", "NARROWS", "s.type")),
        ({"type": "integer"}, {"type": "number"}, ("TYPE_WIDENED", "WIDENS", "s.type")),
        ({"type": "string"}, {"type": "null"}, ("TYPE_CHANGED", "BREAKS", "s.type")),
        ({"type": "string"}, {"type": ["string", "null"]}, ("TYPE_WIDENED", "WIDENS", "s")),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"type": "string"},
            ("TYPE_NARROWED", "NARROWS", "s"),
        ),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, ("VALUES_REMOVED", "NARROWS", "s.enum")),
        ({"enum": ["a"]}, {"enum": ["b", "a"]}, ("VALUES_ADDED", "WIDENS", "s.enum")),
        (PLAIN, {"type": "string", "const": "a"}, ("VALUES_REMOVED", "NARROWS", "s.const")),
        ({"enum": ["a"]}, PLAIN, ("VALUES_ADDED", "WIDENS", "s.enum")),
        ({"const": "a"}, {"const": "b"}, ("VALUES_REMOVED", "NARROWS", "s.const")),
        (
            {"anyOf": [fields({"a": PLAIN}), fields({"b": PLAIN})]},
            fields({"a": PLAIN}),
            ("ALTERNATIVE_REMOVED", "NARROWS", "s"),
        ),
        (
            fields({"a": PLAIN}),
            {"anyOf": [fields({"a": PLAIN}), fields({"b": PLAIN})]},
            ("ALTERNATIVE_ADDED", "WIDENS", "s"),
        ),
        (PLAIN, {**PLAIN, "pattern": "a"}, ("CONDITION_ADDED", "NARROWS", "s.pattern")),
        ({**PLAIN, "format": "date"}, PLAIN, ("CONDITION_REMOVED", "WIDENS", "s.format")),
        (
            {**PLAIN, "pattern": "a"},
            {**PLAIN, "pattern": "b"},
            ("NOT_ANALYSED", "BREAKS", "s.pattern"),
        ),
        ({"x-a": 1}, {"x-a": 2}, ("NOT_ANALYSED", "BREAKS", "s.x-a")),
        ({"default": 1}, {"default": None}, ("DEFAULT_CHANGED", "BREAKS", "s.default")),
        ({"default": None}, {}, ("DEFAULT_CHANGED", "BREAKS", "s.default")),
        ({}, {"default": None}, ("DEFAULT_CHANGED", "EXTENDS", "s.default")),
        ({"title": "a"}, {"title": "b"}, ("TEXT_CHANGED", "TELLS", "s.title")),
        ({"items": PLAIN}, {"items": {"type": "null"}}, ("TYPE_CHANGED", "BREAKS", "s.items.type")),
        (
            {"prefixItems": [PLAIN]},
            {"prefixItems": [PLAIN, PLAIN]},
            ("NOT_ANALYSED", "BREAKS", "s.prefixItems"),
        ),
        (
            {"patternProperties": {"a": PLAIN}},
            {"patternProperties": {"b": PLAIN}},
            ("NOT_ANALYSED", "BREAKS", "s.patternProperties"),
        ),
        ({"type": "string"}, {"type": "text"}, ("NOT_ANALYSED", "BREAKS", "s")),
        ({}, 5, ("NOT_ANALYSED", "BREAKS", "s")),
        (
            {"type": "integer"},
            {"enum": [1.5], "type": "integer"},
            ("VALUES_REMOVED", "NARROWS", "s.enum"),
        ),
    ],
)
def test_a_change_is_named_and_placed(old: object, new: object, expected: Told) -> None:
    assert expected in told(old, new)
    if expected[0] not in ("VALUES_REMOVED", "TYPE_CHANGED"):
        assert len(told(old, new)) == 1


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ({"minLength": 1}, {"minLength": 2}, Effect.NARROWS),
        ({"maxLength": 1}, {"maxLength": 2}, Effect.WIDENS),
        ({}, {"minItems": 1}, Effect.NARROWS),
        ({}, {"maxItems": 1}, Effect.NARROWS),
        ({"maxProperties": 1}, {}, Effect.WIDENS),
        ({"minimum": 1}, {"minimum": 0}, Effect.WIDENS),
        ({"minimum": 0}, {"exclusiveMinimum": 0}, Effect.NARROWS),
        ({"maximum": 0}, {"exclusiveMaximum": 0}, Effect.NARROWS),
        ({"maximum": 1}, {"maximum": 0.5}, Effect.NARROWS),
        ({"minimum": 5}, {"minimum": 5, "exclusiveMinimum": 1}, None),
        ({"minItems": 0}, {}, None),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}, None),
        ({"type": "integer", "maximum": 1.5}, {"type": "integer", "exclusiveMaximum": 2}, None),
        ({}, {"uniqueItems": True}, Effect.NARROWS),
        ({"uniqueItems": False}, {}, None),
        ({}, {"multipleOf": 2}, Effect.NARROWS),
        ({"multipleOf": 2}, {}, Effect.WIDENS),
        ({"multipleOf": 6}, {"multipleOf": 3}, Effect.WIDENS),
        ({"multipleOf": 3}, {"multipleOf": 6}, Effect.NARROWS),
        ({"multipleOf": 4}, {"multipleOf": 6}, Effect.BREAKS),
    ],
)
def test_a_limit_is_tightened_or_loosened(old: Schema, new: Schema, effect: Effect | None) -> None:
    changes = compared(old, new)
    assert [change.effect for change in changes] == ([effect] if effect else [])
    assert all(change.code.value.startswith("LIMIT_") for change in changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": ["string", "null"]}, {"anyOf": [{"type": "null"}, {"type": "string"}]}),
        ({"enum": [1, "a"]}, {"enum": ["a", 1.0]}),
        ({"type": "string", "enum": ["a"]}, {"const": "a"}),
        ({"$ref": "#/$defs/x", "$defs": {"x": PLAIN}}, PLAIN),
        ({"allOf": [PLAIN, {"minLength": 1}]}, {**PLAIN, "minLength": 1}),
        ({"oneOf": [PLAIN, {"type": "null"}]}, {"anyOf": [PLAIN, {"type": "null"}]}),
        ({"items": True}, {"items": {}}),
        ({"additionalProperties": {}}, {}),
        ({"required": ["a", "b"]}, {"required": ["b", "a", "a"]}),
        ({"$defs": {"x": PLAIN}}, {}),
        ({"pattern": "("}, {"pattern": "("}),
        (
            {"unevaluatedProperties": False, "title": "a"},
            {"unevaluatedProperties": False, "title": "a", "$defs": {}},
        ),
    ],
)
def test_what_means_the_same_does_not_differ(old: Schema, new: Schema) -> None:
    assert not compared(old, new)
    assert not compared(new, old)


def test_a_field_that_is_added_is_compared_with_what_it_had_to_be() -> None:
    old = fields({}, additionalProperties=PLAIN)
    assert told(old, fields({"a": PLAIN}, additionalProperties=PLAIN)) == [
        ("FIELD_ADDED", "EXTENDS", "s.properties.a")
    ]
    assert told(old, fields({"a": {"type": "null"}}, additionalProperties=PLAIN)) == [
        ("FIELD_ADDED", "EXTENDS", "s.properties.a"),
        ("TYPE_CHANGED", "BREAKS", "s.properties.a.type"),
    ]


def test_alternatives_that_a_property_tells_apart_are_compared_one_by_one() -> None:
    def shape(kind: str, **more: Schema) -> Schema:
        return fields({"kind": {"const": kind}, **more}, "kind")

    old = {"oneOf": [shape("circle", r={"type": "number"}), shape("square")]}
    new = {"oneOf": [shape("square"), shape("circle", r={"type": "integer"})]}
    assert told(old, new) == [("TYPE_NARROWED", "NARROWS", "s.properties.r.type")]
    added = {"oneOf": [*old["oneOf"], shape("line")]}
    assert told(old, added) == [("ALTERNATIVE_ADDED", "WIDENS", "s")]


def test_alternatives_that_overlap_are_not_analysed() -> None:
    one, two = {"minLength": 1}, {"maxLength": 3}
    overlapping = {"oneOf": [one, two]}
    assert told(overlapping, {"oneOf": [one, {"maxLength": 4}]}) == [
        ("NOT_ANALYSED", "BREAKS", "s.oneOf")
    ]
    assert not told(overlapping, {"oneOf": [one, two], "$defs": {}})


def test_a_change_in_a_definition_is_told_where_it_is_used_and_once() -> None:
    def tree(value: Schema) -> Schema:
        node = {"$ref": "#/$defs/node"}
        inside = fields({"value": value, "children": {"type": "array", "items": node}})
        return {"properties": {"left": node, "right": node}, "$defs": {"node": inside}}

    assert told(tree(PLAIN), tree({"type": "null"})) == [
        ("TYPE_CHANGED", "BREAKS", "s.properties.left.properties.value.type")
    ]


def test_a_change_behind_a_keyword_that_is_not_analysed_is_seen() -> None:
    def schema(target: Schema) -> Schema:
        return {"not": {"$ref": "#/$defs/x"}, "$defs": {"x": target}}

    assert told(schema(PLAIN), schema({"type": "null"})) == [("NOT_ANALYSED", "BREAKS", "s.not")]


def test_a_keyword_that_depends_on_its_neighbours_makes_their_change_one_that_breaks() -> None:
    old = fields({"a": PLAIN}, unevaluatedProperties=False)
    new = fields({"a": PLAIN, "b": PLAIN}, unevaluatedProperties=False)
    assert ("NOT_ANALYSED", "BREAKS", "s.unevaluatedProperties") in told(old, new)


def test_parts_that_cannot_be_joined_are_compared_as_parts() -> None:
    def both(*parts: Schema) -> Schema:
        return {**fields({"a": PLAIN}, additionalProperties=False), "allOf": list(parts)}

    part = fields({"b": PLAIN})
    assert told(both(part), both(fields({"b": {"type": "null"}}))) == [
        ("TYPE_CHANGED", "BREAKS", "s.allOf.properties.b.type")
    ]
    assert told(both(part), both(part, {"properties": {"c": PLAIN}})) == [
        ("CONDITION_ADDED", "NARROWS", "s.allOf")
    ]
    assert told(both(part, {"properties": {"c": PLAIN}}), both(part)) == [
        ("CONDITION_REMOVED", "WIDENS", "s.allOf")
    ]


def nested(keyword: str, leaf: Schema) -> Schema:
    """A schema inside of many others."""
    for _ in range(5 * DEEPEST):
        leaf = {keyword: leaf if keyword == "items" else [leaf, {"x": 1}]}
    return leaf


def test_a_change_is_found_at_any_depth() -> None:
    [change] = compared(nested("items", PLAIN), nested("items", {"type": "null"}))
    assert change.code is SchemaCode.TYPE_CHANGED
    assert len(change.place.steps()) == 5 * DEEPEST + 2


def test_alternatives_that_are_nested_too_deeply_are_not_analysed() -> None:
    [change] = compared(nested("anyOf", PLAIN), nested("anyOf", {"type": "null"}))
    assert change.code is SchemaCode.NOT_ANALYSED
    assert "too deep" in change.what
    assert not compared(nested("anyOf", PLAIN), nested("anyOf", PLAIN))


def test_a_reference_that_leads_nowhere_is_not_analysed() -> None:
    old, new = {"items": {"$ref": "#/x"}}, {"items": {"$ref": "other.json"}}
    assert told(old, new) == [("NOT_ANALYSED", "BREAKS", "s.items")]
    assert not told(old, {"items": {"$ref": "#/x"}})


def test_the_words_of_a_change_name_what_was_and_what_is() -> None:
    def what(old: Any, new: Any) -> str:
        [change] = compared(old, new)
        return change.what

    assert what({"type": "number"}, {"type": "integer"}) == "number became integer"
    assert what({"enum": [1, 2]}, {"enum": [1]}) == "[2] no longer fit"
    assert what({"maxLength": 5}, {"maxLength": 3}) == "5 became 3"
    assert what({}, {"maxLength": 3}) == "no limit became 3"
    assert what({"type": "string"}, {"type": ["string", "null"]}) == "null fits too"
    assert what({"default": 1}, {}) == "there is no default any more, it was 1"
    assert what({"type": "string"}, {"type": "string", "enum": []}) == "only [] fit"
