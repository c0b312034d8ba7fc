"""Whether a value matches a response schema, and where it does not."""

from __future__ import annotations

import math
import re
import struct
from enum import StrEnum
from typing import cast

from msgspec import Struct

from relay.suite.canonical import by_code_unit, canonical
from relay.suite.document import Json, Object
from relay.suite.fields import is_number, is_whole
from relay.suite.walk import Path, Walk, run
from relay.suite.wording import excerpt, kind, shown

MOST_LISTED = 10
_LONGEST_EXCERPT = 200
_MOST_NAMES = 20
_SURROGATE = re.compile("[\ud800-\udfff]")


class ViolationCode(StrEnum):
    """How a value differs from its schema."""

    TYPE_MISMATCH = "TYPE_MISMATCH"
    CONST_MISMATCH = "CONST_MISMATCH"
    ENUM_MISMATCH = "ENUM_MISMATCH"
    REQUIRED_MISSING = "REQUIRED_MISSING"
    ADDITIONAL_PROPERTY = "ADDITIONAL_PROPERTY"
    MIN_ITEMS = "MIN_ITEMS"
    MIN_LENGTH = "MIN_LENGTH"
    MAX_LENGTH = "MAX_LENGTH"
    STRING_CONTAINS = "STRING_CONTAINS"
    MINIMUM = "MINIMUM"
    MAXIMUM = "MAXIMUM"


class Violation(Struct, frozen=True):
    """One difference: ``expected`` is what the schema says, ``actual`` the value that is there."""

    code: ViolationCode
    place: Path
    expected: Json
    actual: Json

    @property
    def path(self) -> str:
        """Where in the value: ``$.items[0].name``."""
        return str(self.place)


class Match(Struct, frozen=True):
    """The differences of a value from a schema: the first of them, and how many there are."""

    violations: tuple[Violation, ...]
    total: int


def matched(schema: Object, value: Json) -> Match:
    """Hold a value against a schema that validation has accepted."""
    matcher = _Matcher()
    run(matcher.node(Path(), schema, value))
    return Match(tuple(matcher.listed), matcher.total)


class _Matcher:
    def __init__(self) -> None:
        self.listed: list[Violation] = []
        self.total = 0
        self._texts: dict[tuple[int, str], frozenset[str]] = {}

    def node(self, place: Path, schema: Object, value: Json) -> Walk:
        """One value against one schema. A value of the wrong kind is not looked into."""
        if self._is_other(place, schema, value):
            return
        if isinstance(value, str):
            self._string(place, schema, value)
        elif is_number(value):
            self._number(place, schema, value)
        elif isinstance(value, list):
            self._least(ViolationCode.MIN_ITEMS, place, schema.get("minItems"), len(value))
            if "items" in schema:
                for index, item in enumerate(value):
                    yield self.node(place / index, cast(Object, schema["items"]), item)
        elif isinstance(value, dict):
            yield self._object(place, schema, value)

    def _add(self, code: ViolationCode, place: Path, expected: Json, actual: Json) -> None:
        self.total += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append(Violation(code, place, expected, actual))

    def _is_other(self, place: Path, schema: Object, value: Json) -> bool:
        if "type" in schema and not _is_of_type(value, schema["type"]):
            self._add(ViolationCode.TYPE_MISMATCH, place, schema["type"], value)
        elif "const" in schema and not self._is_among(schema, "const", value):
            self._add(ViolationCode.CONST_MISMATCH, place, schema["const"], value)
        elif "enum" in schema and not self._is_among(schema, "enum", value):
            self._add(ViolationCode.ENUM_MISMATCH, place, schema["enum"], value)
        else:
            return False
        return True

    def _is_among(self, schema: Object, keyword: str, value: Json) -> bool:
        """Whether a value equals what the keyword allows: then their canonical texts are the same.

        Texts are kept for the next item of an array, whose schema is this one again.
        """
        key = (id(schema), keyword)
        if key not in self._texts:
            options = schema[keyword] if keyword == "enum" else [schema[keyword]]
            self._texts[key] = frozenset(map(canonical, cast(list[Json], options)))
        return canonical(value) in self._texts[key]

    def _string(self, place: Path, schema: Object, value: str) -> None:
        self._least(ViolationCode.MIN_LENGTH, place, schema.get("minLength"), len(value))
        self._most(ViolationCode.MAX_LENGTH, place, schema.get("maxLength"), len(value))
        part = schema.get("stringContains")
        if isinstance(part, str) and not _contains(value, part):
            self._add(ViolationCode.STRING_CONTAINS, place, part, value)

    def _number(self, place: Path, schema: Object, value: int | float) -> None:
        self._least(ViolationCode.MINIMUM, place, schema.get("minimum"), value)
        self._most(ViolationCode.MAXIMUM, place, schema.get("maximum"), value)

    def _least(self, code: ViolationCode, place: Path, bound: Json, actual: int | float) -> None:
        if is_number(bound) and actual < bound:
            self._add(code, place, bound, actual)

    def _most(self, code: ViolationCode, place: Path, bound: Json, actual: int | float) -> None:
        if is_number(bound) and actual > bound:
            self._add(code, place, bound, actual)

    def _object(self, place: Path, schema: Object, value: Object) -> Walk:
        for name in cast(list[str], schema.get("required", [])):
            if name not in value:
                self._add(ViolationCode.REQUIRED_MISSING, place, name, value)
        properties = cast(dict[str, Object], schema.get("properties", {}))
        for name, member in properties.items():
            if name in value:
                yield self.node(place / name, member, value[name])
        additional = schema.get("additionalProperties", True)
        if additional is True:
            return
        for name in sorted(value.keys() - properties.keys(), key=by_code_unit):
            if isinstance(additional, dict):
                yield self.node(place / name, additional, value[name])
            else:
                self._add(ViolationCode.ADDITIONAL_PROPERTY, place / name, None, value[name])


def _is_of_type(value: Json, name: Json) -> bool:
    if name == "integer":
        return is_whole(value) or (isinstance(value, float) and value.is_integer())
    if name == "number":
        return is_number(value) and math.isfinite(value)
    return kind(value) == name


def _contains(text: str, part: str) -> bool:
    """Whether a text has a part, by UTF-16: half of a surrogate pair is a part of its character."""
    if part in text or not _SURROGATE.search(part):
        return part in text
    return _halves(part) in _halves(text)


def _halves(text: str) -> str:
    units = by_code_unit(text)
    return "".join(map(chr, struct.unpack(f">{len(units) // 2}H", units)))


def describe(violation: Violation) -> str:
    """A violation in words, without its path."""
    expected, actual = violation.expected, violation.actual
    match violation.code:
        case ViolationCode.REQUIRED_MISSING:
            names = sorted(cast(Object, actual), key=by_code_unit)
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            there = ", ".join(shown(name) for name in names[:_MOST_NAMES]) or "nothing"
            return f"{shown(expected)} is missing; there is {there}{more}"
        case ViolationCode.ADDITIONAL_PROPERTY:
            return f"not allowed, got {shown(actual)}"
        case ViolationCode.CONST_MISMATCH:
            return f"expected {_excerpt(expected)}, got {_excerpt(actual)}"
        case ViolationCode.ENUM_MISMATCH:
            return f"expected one of {_excerpt(expected)}, got {_excerpt(actual)}"
        case _:
            return _PHRASES[violation.code].format(expected=shown(expected), actual=shown(actual))


_PHRASES = {
    ViolationCode.TYPE_MISMATCH: "expected the type {expected}, got {actual}",
    ViolationCode.MIN_ITEMS: "expected at least {expected} items, got {actual}",
    ViolationCode.MIN_LENGTH: "expected at least {expected} characters, got {actual}",
    ViolationCode.MAX_LENGTH: "expected at most {expected} characters, got {actual}",
    ViolationCode.STRING_CONTAINS: "expected a text with {expected} in it, got {actual}",
    ViolationCode.MINIMUM: "expected {expected} or more, got {actual}",
    ViolationCode.MAXIMUM: "expected {expected} or less, got {actual}",
}


def _excerpt(value: Json) -> str:
    return excerpt(value, _LONGEST_EXCERPT)
