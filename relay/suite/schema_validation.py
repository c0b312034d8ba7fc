"""The checks of a response schema, the subset of JSON Schema that a suite may use."""

from __future__ import annotations

import math
from collections.abc import Callable

from relay.suite.canonical import by_code_unit
from relay.suite.document import Json, Object
from relay.suite.fields import check_json, check_said, is_number, is_whole
from relay.suite.issues import IssueCode, Issues
from relay.suite.walk import Path, Walk
from relay.suite.wording import either, nearest, shown

KEYWORDS: dict[str, tuple[str, ...]] = {
    "type": (),
    "const": (),
    "enum": (),
    "required": ("object",),
    "properties": ("object",),
    "additionalProperties": ("object",),
    "items": ("array",),
    "minItems": ("array",),
    "minLength": ("string",),
    "maxLength": ("string",),
    "stringContains": ("string",),
    "minimum": ("number", "integer"),
    "maximum": ("number", "integer"),
}
"""Every keyword, and the types of which it needs one beside it; none if it needs none."""

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

_A_SCHEMA = 'an object: a schema such as {"type": "string"}'
_NAMES = "an array of names"


def check_schema(issues: Issues, place: Path, schema: Json) -> Walk:
    """A schema, and then the schemas in it: those of properties first, then the others."""
    if not isinstance(schema, dict):
        issues.wrong(IssueCode.INVALID_TYPE, place, schema, _A_SCHEMA)
        return
    if not schema:
        message = "the schema is empty and would match everything"
        hint = f"constrain something: {either(KEYWORDS)}"
        issues.add(IssueCode.INVALID_VALUE, place, message, hint)
        return
    _check_keywords(issues, place, schema)
    _check_type(issues, place, schema)
    if "const" in schema:
        yield check_json(issues, place / "const", schema["const"])
    if "enum" in schema:
        yield _check_options(issues, place / "enum", schema["enum"])
    for keyword, check in _CHECKS.items():
        if keyword in schema:
            check(issues, place / keyword, schema[keyword])
    yield _check_properties(issues, place / "properties", schema)
    if not isinstance(schema.get("additionalProperties", True), bool):
        additional = schema["additionalProperties"]
        yield check_schema(issues, place / "additionalProperties", additional)
    if "items" in schema:
        yield check_schema(issues, place / "items", schema["items"])


def _check_keywords(issues: Issues, place: Path, schema: Object) -> None:
    for name in sorted(schema.keys() - KEYWORDS.keys(), key=by_code_unit):
        meant = nearest(name, KEYWORDS)
        issues.add(
            IssueCode.UNSUPPORTED_SCHEMA_KEYWORD,
            place / name,
            f"{shown(name)} is no keyword of a response schema",
            f'did you mean "{meant}"?' if meant else f"there are {', '.join(KEYWORDS)}",
        )


def _check_type(issues: Issues, place: Path, schema: Object) -> None:
    declared = schema.get("type")
    if "type" in schema and declared not in TYPES:
        types = either(f'"{name}"' for name in TYPES)
        issues.wrong(IssueCode.INVALID_VALUE, place / "type", declared, f"one of {types}")
    for keyword in sorted(schema.keys() & KEYWORDS.keys()):
        needed = KEYWORDS[keyword]
        if needed and declared not in needed:
            types = either(f'"{name}"' for name in needed)
            beside = f"has {shown(declared)}" if "type" in schema else "has none"
            issues.add(
                IssueCode.SCHEMA_KEYWORD_REQUIRES_TYPE,
                place / keyword,
                f'"{keyword}" needs the type {types} beside it, and the schema {beside}',
                f'put "type": "{needed[0]}" beside "{keyword}"',
            )


def _check_options(issues: Issues, place: Path, options: Json) -> Walk:
    if not isinstance(options, list) or not options:
        wanted = "an array of one value or more"
        issues.wrong(IssueCode.INVALID_TYPE, place, options, wanted)
    else:
        yield check_json(issues, place, options)


def _check_required(issues: Issues, place: Path, names: Json) -> None:
    if not isinstance(names, list):
        issues.wrong(IssueCode.INVALID_TYPE, place, names, _NAMES)
    elif not names:
        message = '"required" is empty and requires nothing'
        issues.add(IssueCode.INVALID_VALUE, place, message, "name a property, or remove it")
    else:
        for index, name in enumerate(names):
            check_said(issues, place / index, name, "the name of a property")


def _check_count(issues: Issues, place: Path, count: Json) -> None:
    if not is_whole(count) or count < 0:
        issues.wrong(IssueCode.INVALID_VALUE, place, count, "a whole number, 0 or more")


def _check_bound(issues: Issues, place: Path, bound: Json) -> None:
    if not is_number(bound) or not math.isfinite(bound):
        issues.wrong(IssueCode.INVALID_VALUE, place, bound, "a number")


def _check_part(issues: Issues, place: Path, part: Json) -> None:
    check_said(issues, place, part, "a text that is not blank")


_CHECKS: dict[str, Callable[[Issues, Path, Json], None]] = {
    "required": _check_required,
    "minItems": _check_count,
    "minLength": _check_count,
    "maxLength": _check_count,
    "minimum": _check_bound,
    "maximum": _check_bound,
    "stringContains": _check_part,
}
"""In the order of their issues, after those of ``const`` and ``enum`` and before inner schemas."""


def _check_properties(issues: Issues, place: Path, schema: Object) -> Walk:
    if "properties" not in schema:
        return
    properties = schema["properties"]
    if not isinstance(properties, dict):
        wanted = "an object: a schema for each property"
        issues.wrong(IssueCode.INVALID_TYPE, place, properties, wanted)
    elif not properties:
        message = '"properties" is empty and constrains nothing'
        issues.add(
            IssueCode.INVALID_VALUE, place, message, "give a property a schema, or remove it"
        )
    else:
        for name, member in properties.items():
            yield check_schema(issues, place / name, member)
