"""Whether a value is valid for a JSON Schema, as far as that can be told for certain.

The answer has three values: None is for what is not looked at, such as ``pattern`` (an expression
that a server sends is not run: some take for ever). False and True are certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias, cast

from relay.suite.canonical import canonical
from relay.suite.document import Json, Object
from relay.suite.fields import is_number
from relay.suite.json_schema import Schemas, Unanalysable, atom_of, atoms, options

FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uri-reference": "/example",
    "json-pointer": "/example",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
"""A text of each format, the only one that is known to be of it."""

Certain: TypeAlias = bool | None


def _every(verdicts: Iterable[Certain]) -> Certain:
    known = True
    for verdict in verdicts:
        if verdict is False:
            return False
        known = known and verdict is True
    return True if known else None


def _some(verdicts: Iterable[Certain]) -> Certain:
    return _opposite(_every(map(_opposite, verdicts)))


def _opposite(verdict: Certain) -> Certain:
    return None if verdict is None else not verdict


class Acceptance:
    """Tells of the schemas in one document which values are valid for them.

    It remembers what it told, for the same values come again in one input after another.
    """

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        # With the values themselves, lest another takes the id of one that is gone.
        self._told: dict[tuple[int, int], tuple[Json, Json, Certain]] = {}

    def valid(self, schema: Json, value: Json) -> Certain:
        """Whether the value is valid for the schema; None if that is not known."""
        key = (id(schema), id(value))
        if key not in self._told:
            self._told[key] = (schema, value, self._valid(schema, value))
        return self._told[key][2]

    def _valid(self, schema: Json, value: Json) -> Certain:
        try:
            with self._schemas.within("accepts", id(schema), id(value)):
                return _every(self._verdicts(self._schemas.node(schema), value))
        except Unanalysable:
            return None

    def _verdicts(self, node: Object, value: Json) -> Iterator[Certain]:
        yield _is_of(node, value)
        if "$ref" in node:
            yield self.valid(self._schemas.target(node["$ref"]), value)
        yield from self._combined(node, value)
        if is_number(value):
            yield _number(node, value)
        elif isinstance(value, str):
            yield _string(node, value)
        elif isinstance(value, list):
            yield from self._array(node, value)
        elif isinstance(value, dict):
            yield from self._object(node, value)
        if node.keys() & _NOT_LOOKED_AT:
            yield None

    def _combined(self, node: Object, value: Json) -> Iterator[Certain]:
        for part in _schemas_of(node, "allOf"):
            yield self.valid(part, value)
        if "anyOf" in node:
            yield _some(self.valid(part, value) for part in _schemas_of(node, "anyOf"))
        if "oneOf" in node:
            yield _exactly_one([self.valid(part, value) for part in _schemas_of(node, "oneOf")])
        if "not" in node:
            yield _opposite(self.valid(node["not"], value))
        if "if" in node:
            yield self._conditional(node, value)

    def _conditional(self, node: Object, value: Json) -> Certain:
        holds = self.valid(node["if"], value)
        then = self.valid(node.get("then", True), value)
        otherwise = self.valid(node.get("else", True), value)
        if holds is None:
            return then if then is otherwise else None
        return then if holds else otherwise

    def _array(self, node: Object, value: list[Json]) -> Iterator[Certain]:
        yield _counted(node, "minItems", "maxItems", len(value))
        if node.get("uniqueItems") is True:
            yield len({canonical(item) for item in value}) == len(value)
        first = _schemas_of(node, "prefixItems")
        for part, item in zip(first, value, strict=False):
            yield self.valid(part, item)
        for item in value[len(first) :]:
            yield self.valid(node.get("items", True), item)

    def _object(self, node: Object, value: Object) -> Iterator[Certain]:
        yield _counted(node, "minProperties", "maxProperties", len(value))
        yield all(name in value for name in cast(list[str], node.get("required", [])))
        for name, needed in cast(dict[str, list[str]], node.get("dependentRequired", {})).items():
            yield name not in value or all(other in value for other in needed)
        properties = cast(Object, node.get("properties", {}))
        for name in value:
            if "propertyNames" in node:
                yield self.valid(node["propertyNames"], name)
            if name in properties:
                yield self.valid(properties[name], value[name])
            elif "patternProperties" not in node:
                yield self.valid(node.get("additionalProperties", True), value[name])
        if "patternProperties" in node:
            yield None


_NOT_LOOKED_AT = frozenset(
    (
        *("$dynamicRef", "$recursiveRef", "contains", "dependencies", "dependentSchemas"),
        *("unevaluatedItems", "unevaluatedProperties"),
    )
)


def _schemas_of(node: Object, keyword: str) -> list[Json]:
    return cast(list[Json], node.get(keyword, []))


def _exactly_one(verdicts: list[Certain]) -> Certain:
    if verdicts.count(True) > 1:
        return False
    if None in verdicts:
        return None
    return True in verdicts


def _is_of(node: Object, value: Json) -> bool:
    if atom_of(value) not in atoms(node):
        return False
    allowed = options(node)
    return allowed is None or canonical(value) in map(canonical, allowed)


def _counted(node: Object, least: str, most: str, count: int) -> bool:
    low, high = cast(int, node.get(least, 0)), cast(int, node.get(most, count))
    return low <= count <= high


_COMPARED: dict[str, Callable[[int | float, int | float], bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
}


def _number(node: Object, value: int | float) -> Certain:
    for keyword, holds in _COMPARED.items():
        if keyword in node and not holds(value, cast(float, node[keyword])):
            return False
    return _is_multiple(value, cast(float, node["multipleOf"])) if "multipleOf" in node else True


def _is_multiple(value: int | float, of: int | float) -> Certain:
    """Where a fraction is involved, a double may miss what was meant: 0.3 is no multiple of 0.1."""
    if math.isinf(value):
        return None
    if (Fraction(value) / Fraction(of)).denominator == 1:
        return True
    return False if isinstance(value, int) and isinstance(of, int) else None


def _string(node: Object, value: str) -> Certain:
    if not _counted(node, "minLength", "maxLength", len(value)):
        return False
    named = node.get("format")
    known = "format" not in node or (isinstance(named, str) and FORMATS.get(named) == value)
    return True if known and "pattern" not in node else None
