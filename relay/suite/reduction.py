"""From a JSON Schema to a response schema: all of it that a suite can say, and nothing more."""

from __future__ import annotations

from typing import cast

from relay.suite.document import Json, Object
from relay.suite.fields import check_json, is_blank, is_number
from relay.suite.issues import Issues
from relay.suite.json_schema import Schemas, Unanalysable, atoms, options, type_name
from relay.suite.walk import Path, run


def reduced(schemas: Schemas, schema: Json) -> Object | None:
    """A response schema that every valid value matches; None where nothing can be said."""
    try:
        with schemas.within("reduce", id(schema)):
            branches = schemas.branches(schema, loose=True)
            said = _type_and_options(branches)
            if len(branches) == 1:
                inner = _INNER.get(cast(str, said.get("type")))
                said |= inner(schemas, branches[0]) if inner else {}
            return said or None
    except Unanalysable:
        return None


def _type_and_options(branches: list[Object]) -> Object:
    said: Object = {}
    named = type_name(frozenset().union(*map(atoms, branches)))
    if named is not None:
        said["type"] = named
    allowed = [options(branch) for branch in branches]
    values = [value for of_branch in allowed for value in of_branch or []]
    if values and None not in allowed and all(map(_is_writable, values)):
        said["enum"] = values
    return said


def _is_writable(value: Json) -> bool:
    """Whether a suite may hold a value: it has no number that JSON cannot have."""
    issues = Issues()
    run(check_json(issues, Path(), value))
    return not issues.found


def _object(schemas: Schemas, node: Object) -> Object:
    said: Object = {}
    names = cast(list[str], node.get("required", []))
    needed = [name for name in dict.fromkeys(names) if not is_blank(name)]
    if needed:
        said["required"] = needed
    declared = cast(Object, node.get("properties", {}))
    members = {name: reduced(schemas, member) for name, member in declared.items()}
    known = {name: member for name, member in members.items() if member is not None}
    if known:
        said["properties"] = known
    # A property of which nothing can be said cannot be named, and would count as additional.
    if len(known) == len(declared) and "patternProperties" not in node:
        additional = node.get("additionalProperties", True)
        rest = False if additional is False else reduced(schemas, additional)
        if rest is not None:
            said["additionalProperties"] = rest
    return said


def _array(schemas: Schemas, node: Object) -> Object:
    said = _kept(node, "minItems")
    item = reduced(schemas, node["items"]) if "items" in node else None
    if item is not None and "prefixItems" not in node:
        said["items"] = item
    return said


def _string(_schemas: Schemas, node: Object) -> Object:
    return _kept(node, "minLength", "maxLength")


def _number(_schemas: Schemas, node: Object) -> Object:
    """An exclusive bound is held to as an inclusive one, the nearest that there is."""
    said: Object = {}
    for keyword, exclusive, tightest in (
        ("minimum", "exclusiveMinimum", max),
        ("maximum", "exclusiveMaximum", min),
    ):
        bounds = [node[name] for name in (keyword, exclusive) if is_number(node.get(name))]
        if bounds:
            said[keyword] = tightest(cast(list[float], bounds))
    return said


def _kept(node: Object, *keywords: str) -> Object:
    return {keyword: node[keyword] for keyword in keywords if keyword in node}


_INNER = {
    "object": _object,
    "array": _array,
    "string": _string,
    "number": _number,
    "integer": _number,
}
