"""JSON Schema as servers describe their tools with it: references resolved, alternatives apart.

A schema comes from a server and may be anything. What cannot be understood raises
:class:`Unanalysable`, and so does what is too deep or too large to be followed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast
from urllib.parse import unquote

from relay.suite.canonical import canonical
from relay.suite.document import Json, Object
from relay.suite.fields import is_number, is_whole
from relay.suite.wording import kind, shown

DEEPEST = 60
MOST_STEPS = 20_000

ANNOTATIONS = frozenset(
    (
        *("$comment", "$schema", "title", "description", "default", "examples"),
        *("deprecated", "readOnly", "writeOnly"),
        *("contentEncoding", "contentMediaType", "contentSchema"),
    )
)
"""Keywords by which no value becomes invalid."""

DEFINITIONS = frozenset(("$defs", "definitions"))

_ATOMS = {
    "null": {"null"},
    "boolean": {"boolean"},
    "object": {"object"},
    "array": {"array"},
    "string": {"string"},
    "integer": {"integer"},
    "number": {"integer", "fraction"},
}
ALL_ATOMS = frozenset().union(*_ATOMS.values())
"""The types, none of which holds a value of another; a number is an integer or a fraction."""

_OF_OBJECTS = frozenset(("properties", "patternProperties", "additionalProperties"))
_TOGETHER = (
    _OF_OBJECTS,
    frozenset(("items", "prefixItems", "additionalItems")),
    frozenset(("contains", "minContains", "maxContains")),
    frozenset(("if", "then", "else")),
)
"""Keywords that read each other, and so cannot come from two schemas."""

_UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))
_IGNORING_SIBLINGS = ("draft-03", "draft-04", "draft-06", "draft-07")


class Unanalysable(Exception):
    """A schema that is not understood, and why."""


class Schemas:
    """One schema and those inside it, which may refer to each other."""

    def __init__(self, root: Json) -> None:
        self._root = root
        dialect = str(root.get("$schema", "")) if isinstance(root, dict) else ""
        self._ref_stands_alone = any(draft in dialect for draft in _IGNORING_SIBLINGS)
        self._within: list[object] = []
        self._steps = 0
        self._texts: dict[str, tuple[str, list[str]]] = {}

    @contextmanager
    def within(self, *key: object) -> Iterator[None]:
        """Go into a schema; ``key`` tells what is done there, which cannot be done inside again."""
        if not self._within:
            self._steps = 0
        self._steps += 1
        if key in self._within:
            raise Unanalysable("it contains itself")
        if len(self._within) >= DEEPEST or self._steps > MOST_STEPS:
            raise Unanalysable("it is nested too deeply, or too large")
        self._within.append(key)
        try:
            yield
        finally:
            self._within.pop()

    def node(self, schema: Json) -> Object:
        """A schema as an object of keywords that count; old drafts ignore all beside ``$ref``."""
        node = shaped(schema)
        if self._ref_stands_alone and "$ref" in node:
            return {"$ref": node["$ref"]}
        return node

    def whole(self, schema: Json) -> Object:
        """A schema with all that it refers to joined to it, as far as it can be."""
        with self.within("whole", id(schema)):
            node = self.node(schema)
            joined = {name: value for name, value in node.items() if name not in ("$ref", "allOf")}
            parts = [self.target(node["$ref"])] if "$ref" in node else []
            for part in [*parts, *cast(list[Json], node.get("allOf", []))]:
                joined = _join(joined, self.whole(part))
            return joined

    def branches(self, schema: Json, *, loose: bool = False) -> list[Object]:
        """The alternatives of a schema: a value is valid if it is so for one of them.

        ``oneOf`` stands for alternatives if no value fits to two; if ``loose``, it always does.
        """
        with self.within("branches", id(schema)):
            node = self.whole(schema)
            keyword = self._alternatives(node, loose)
            if keyword is None:
                return [node]
            rest = {name: value for name, value in node.items() if name != keyword}
            return [
                branch
                for option in cast(list[Json], node[keyword])
                for branch in self.branches(_join(rest, self.whole(option)), loose=loose)
            ]

    def _alternatives(self, node: Object, loose: bool) -> str | None:
        if "anyOf" in node:
            return "anyOf"
        if "oneOf" in node and (loose or self._disjoint(cast(list[Json], node["oneOf"]))):
            return "oneOf"
        return None

    def _disjoint(self, options: list[Json]) -> bool:
        """Whether a type, or a property with one value each, tells the options apart."""
        nodes = [self.whole(option) for option in options]
        if sum(len(atoms(node)) for node in nodes) == len(frozenset().union(*map(atoms, nodes))):
            return True
        tags = [self._tags(node) for node in nodes]
        shared = set(tags[0]).intersection(*tags[1:])
        return any(len({tag[name] for tag in tags}) == len(tags) for name in shared)

    def _tags(self, node: Object) -> dict[str, str]:
        """The properties that every value has, and with the same value: its canonical text."""
        if atoms(node) != {"object"}:
            return {}
        properties = cast(Object, node.get("properties", {}))
        named = [name for name in cast(list[str], node.get("required", [])) if name in properties]
        fixed = {name: options(self.whole(properties[name])) for name in named}
        return {name: canonical(only[0]) for name, only in fixed.items() if only and len(only) == 1}

    def target(self, reference: Json) -> Json:
        """What a ``$ref`` refers to."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise Unanalysable(f"$ref is {shown(reference)}, which is outside of the schema")
        found = self._root
        for step in unquote(reference[1:]).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            else:
                raise Unanalysable(f"$ref is {shown(reference)}, where nothing is")
        if reference not in ("#", "#/") and not reference.startswith("#/"):
            raise Unanalysable(f"$ref is {shown(reference)}, which is no path")
        return found

    def text(self, schema: Json) -> str:
        """A text that tells whether two schemas are the same, with all that they refer to."""
        reached: dict[str, str] = {}
        waiting = _references(schema)
        while waiting:
            reference = waiting.pop()
            if reference not in reached:
                reached[reference], further = self._referred(reference)
                waiting.extend(further)
        return "\n".join([canonical(schema), *(reached[name] for name in sorted(reached))])

    def _referred(self, reference: str) -> tuple[str, list[str]]:
        """A reference with the text that it leads to, and the references in that."""
        if reference not in self._texts:
            try:
                target = self.target(reference)
            except Unanalysable:
                target = None
            self._texts[reference] = canonical([reference, target]), _references(target)
        return self._texts[reference]


def atoms(node: Object) -> frozenset[str]:
    """The types that the values of a schema may have."""
    allowed = options(node)
    if allowed is not None:
        return frozenset(atom_of(value) for value in allowed)
    return _declared(node)


def atom_of(value: Json) -> str:
    """The type of a value."""
    named = kind(value)
    if named != "number":
        return named
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return "integer" if whole else "fraction"


def type_name(types: frozenset[str]) -> str | None:
    """The one type of JSON Schema that is neither wider nor narrower than these."""
    return next((name for name, held in _ATOMS.items() if held == types), None)


def type_names(types: frozenset[str]) -> list[str]:
    """The types as ``type`` names them; all of them if any will do."""
    named = types - {"integer"} if "fraction" in types else types
    return sorted("number" if name == "fraction" else name for name in named)


def options(node: Object) -> list[Json] | None:
    """The values that ``const`` and ``enum`` leave over; None if there is neither."""
    if "const" in node:
        allowed = [node["const"]]
        texts = {canonical(value) for value in cast(list[Json], node.get("enum", allowed))}
        allowed = [value for value in allowed if canonical(value) in texts]
    elif "enum" in node:
        allowed = cast(list[Json], node["enum"])
    else:
        return None
    declared = _declared(node)
    return [value for value in allowed if atom_of(value) in declared]


def _declared(node: Object) -> frozenset[str]:
    if "type" not in node:
        return ALL_ATOMS
    named = node["type"]
    names = named if isinstance(named, list) else [named]
    return frozenset().union(*(_ATOMS[str(name)] for name in names))


def shaped(schema: Json) -> Object:
    """A schema as an object, every keyword that is looked at with the kind of value it needs."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        raise Unanalysable(f"it is {shown(schema)} and no schema")
    for name, fits in _SHAPES.items():
        if name in schema and not fits(schema[name]):
            raise Unanalysable(f'"{name}" is {shown(schema[name])}')
    return schema


def _is_type(value: Json) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _ATOMS for name in names)


def _is_count(value: Json) -> bool:
    return is_whole(value) and value >= 0


def _is_bound(value: Json) -> bool:
    return is_number(value) and math.isfinite(value)


def _is_divisor(value: Json) -> bool:
    return is_number(value) and math.isfinite(value) and value > 0


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _is_options(value: Json) -> bool:
    return isinstance(value, list) and bool(value)


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_schema(value: Json) -> bool:
    return isinstance(value, dict | bool)


def _is_named_lists(value: Json) -> bool:
    return isinstance(value, dict) and all(map(_is_names, value.values()))


_SHAPES: dict[str, Callable[[Json], bool]] = {
    "type": _is_type,
    "enum": _is_list,
    "required": _is_names,
    "properties": _is_object,
    "additionalProperties": _is_schema,
    "items": _is_schema,
    "prefixItems": _is_options,
    "uniqueItems": _is_flag,
    "multipleOf": _is_divisor,
    "dependentRequired": _is_named_lists,
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _is_options),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_bound),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
}


def _join(one: Object, other: Object) -> Object:
    """The schema of the values that are valid for both: one object if that says the same."""
    if not _joinable(one, other):
        return {**one, "allOf": [*cast(list[Json], one.get("allOf", [])), other]}
    joined = {**other, **one}
    if "properties" in one and "properties" in other:
        joined["properties"] = {
            **cast(Object, other["properties"]),
            **cast(Object, one["properties"]),
        }
    if "required" in one and "required" in other:
        names = [*cast(list[str], one["required"]), *cast(list[str], other["required"])]
        joined["required"] = list(dict.fromkeys(names))
    return joined


def _joinable(one: Object, other: Object) -> bool:
    if other.keys() & _UNEVALUATED:
        return False
    for group in _TOGETHER:
        if one.keys() & group and other.keys() & group and not _properties_alone(one, other, group):
            return False
    both = one.keys() & other.keys() - ANNOTATIONS - DEFINITIONS - {"required", "properties"}
    return all(canonical(one[name]) == canonical(other[name]) for name in both)


def _properties_alone(one: Object, other: Object, group: frozenset[str]) -> bool:
    if group is not _OF_OBJECTS or (one.keys() | other.keys()) & group != {"properties"}:
        return False
    here, there = cast(Object, one["properties"]), cast(Object, other["properties"])
    return all(canonical(here[name]) == canonical(there[name]) for name in here.keys() & there)


def _references(value: Json) -> list[str]:
    found: dict[str, None] = {}
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                found[reference] = None
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return list(found)
