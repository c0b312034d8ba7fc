"""JSON Schemas as tools have them, changes of them, and values to hold against them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from relay.suite.document import Json

Schema = dict[str, Any]

names = st.sampled_from(["a", "b"])
scalars: list[Json] = [None, True, False, -3, 0, 1, 2, 6, 0.5, "", "a", "ab", "abc"]
_shallow: list[Json] = [*scalars, [], [1], ["a", "a"], [1, 0.5], {}, {"a": 1}, {"b": "ab"}]
_few: list[Json] = [0, "a", {}, {"a": 1}]
_others: list[Json] = [None, 1, "ab", [], {"a": 1}]
SAMPLES: list[Json] = [
    *_shallow,
    *([one, other] for one in _few for other in _few),
    *({"a": one} for one in _shallow),
    *({"b": one} for one in _shallow),
    *({"a": one, "b": other} for one in _others for other in _others),
    *({"a": {"a": one}} for one in scalars),
    {"a": {"b": {"a": 1}}},
    {"a": 1, "b": 1, "c": 1},
]
"""Values of the kinds that the schemas here are about, small enough to try each of them."""


exhaustive = settings(max_examples=60, deadline=None)
"""For tests that try much in each example: how long that takes depends on the machine."""


def is_valid(schema: Json, value: Json) -> bool:
    """The word of an independent validator."""
    return Draft202012Validator(schema).is_valid(value)  # type: ignore[arg-type]


def closed(schema: Any) -> Any:
    """The same schema for values without properties that it does not declare."""
    if not isinstance(schema, dict):
        return schema
    inside = dict(schema)
    for keyword in ("properties", "$defs"):
        if keyword in inside:
            inside[keyword] = {name: closed(one) for name, one in inside[keyword].items()}
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if keyword in inside:
            inside[keyword] = [closed(one) for one in inside[keyword]]
    for keyword in ("items", "additionalProperties"):
        if keyword in inside:
            inside[keyword] = closed(inside[keyword])
    if inside.get("additionalProperties", True) is True and "$ref" not in inside:
        inside["additionalProperties"] = False
    return inside


_types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
_small = st.integers(0, 3)
_bounds = st.integers(-3, 3) | st.sampled_from([0.5, -0.5, 1.5])
_leaves: st.SearchStrategy[Schema] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"type": _types}, optional={"description": st.sampled_from("xy")}),
    st.fixed_dictionaries({"type": st.lists(_types, min_size=1, max_size=2, unique=True)}),
    st.fixed_dictionaries({"const": st.sampled_from(scalars)}),
    st.fixed_dictionaries(
        {"enum": st.lists(st.sampled_from(scalars), min_size=1, max_size=3)},
        optional={"type": _types},
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": _small,
            "maxLength": _small,
            "pattern": st.sampled_from(["a", "^b"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["number", "integer"])},
        optional={
            "minimum": _bounds,
            "maximum": _bounds,
            "exclusiveMinimum": _bounds,
            "exclusiveMaximum": _bounds,
            "multipleOf": st.sampled_from([1, 2, 3, 0.5]),
        },
    ),
    st.sampled_from([{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}]),
    st.fixed_dictionaries({"default": st.sampled_from(scalars), "$ref": st.just("#/$defs/one")}),
)


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    schema: Schema = {"type": "object"}
    members = draw(st.dictionaries(names, inner, max_size=2))
    if members:
        schema["properties"] = members
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(names, max_size=2, unique=True))
    match draw(st.integers(0, 6)):
        case 0 | 1 | 2:
            schema["additionalProperties"] = False
        case 3:
            schema["additionalProperties"] = draw(inner)
        case 4:
            schema["minProperties"] = draw(_small)
        case 5 if draw(st.booleans()):
            schema["unevaluatedProperties"] = False
        case _:
            pass
    return schema


def _lists(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[list[Schema]]:
    return st.lists(inner, min_size=1, max_size=3)


def _containers(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.one_of(
        _objects(inner),
        _objects(inner),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": _small, "maxItems": _small, "uniqueItems": st.booleans()},
        ),
        st.fixed_dictionaries({"prefixItems": _lists(inner)}, optional={"items": inner}),
        st.fixed_dictionaries({"anyOf": _lists(inner)}, optional={"type": _types}),
        st.fixed_dictionaries({"oneOf": _lists(inner)}),
        st.tuples(_lists(inner), _leaves).map(lambda two: {"allOf": two[0], **two[1]}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner}, optional={"else": inner}),
    )


_inner = st.recursive(_leaves, _containers, max_leaves=6)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """A schema with definitions that may refer to each other."""
    # A definition that is nothing but itself means nothing, and no validator ends with it.
    definitions = {
        "one": {"type": "object", "properties": {"a": draw(_inner)}},
        "two": {"items": draw(_inner)},
    }
    return {**draw(_inner), "$defs": definitions}


Place = tuple[Any, Any]
"""A schema inside of another: what holds it, and by which name or index."""


def _places(schema: Any) -> Iterator[Place]:
    for keyword, value in schema.items():
        if keyword in ("properties", "$defs"):
            inside: list[Place] = [(value, name) for name in value]
        elif keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            inside = [(value, index) for index in range(len(value))]
        elif keyword in ("items", "additionalProperties", "not", "if", "then", "else"):
            inside = [(schema, keyword)]
        else:
            inside = []
        for holder, key in inside:
            if isinstance(holder[key], dict):
                yield holder, key
                yield from _places(holder[key])


@st.composite
def edits(draw: st.DrawFn) -> tuple[Schema, Schema]:
    """A schema, and the same after a change or two of it."""
    old = draw(schemas())
    root = {"root": deepcopy(old)}
    for _ in range(draw(st.integers(1, 2))):
        holder, key = draw(st.sampled_from([(root, "root"), *_places(root["root"])]))
        kept = {"$defs": holder[key]["$defs"]} if holder is root else {}
        holder[key] = {**draw(_edited(holder[key])), **kept}
    return old, root["root"]


@st.composite
def _edited(draw: st.DrawFn, node: Schema) -> Schema:
    other = draw(_leaves)
    match draw(st.integers(0, 7)):
        case 0 | 1 if node:
            gone = draw(st.sampled_from(sorted(node)))
            return {name: node[name] for name in node if name != gone}
        case 2 | 3:
            return {**node, **other}
        case 4:
            return {"anyOf": [{key: node[key] for key in node if key != "$defs"}, other]}
        case 5:
            return {**node, "properties": {**node.get("properties", {}), draw(names): other}}
        case 6:
            return {**node, "required": draw(st.lists(names, max_size=2, unique=True))}
        case _:
            return {**node, "additionalProperties": draw(st.booleans())}
