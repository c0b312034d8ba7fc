"""Tool arguments that a server wants mirrored into ``Mcp-Param-*`` headers.

2026-07-28, server/tools, "x-mcp-header": a property of a tool's input schema may name a header.
The HTTP client, which the relay is, mirrors the argument and hides tools with illegal annotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from relay.core.headers import Headers, encode_value
from relay.core.messages import Fields, fields_of, items_of, text_of

_ANNOTATION = "x-mcp-header"
_TYPES = frozenset({"string", "integer", "boolean"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NUMBER = re.compile(rb"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SCHEMA_KEYWORDS = frozenset(
    {"items", "additionalItems", "contains", "propertyNames", "not", "if", "then", "else"}
    | {"additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)
_LIST_KEYWORDS = frozenset({"prefixItems", "anyOf", "oneOf", "allOf", "items"})
_MAP_KEYWORDS = frozenset({"$defs", "definitions", "patternProperties", "dependentSchemas"})

Path = tuple[str, ...]
Mirror = tuple[Path, str]
"""Where an argument is found, and the name of its header after ``Mcp-Param-``."""


class IllegalAnnotation(Exception):
    """A tool's annotation breaks a rule; the text says which."""


def param_headers(mirrors: tuple[Mirror, ...], arguments: msgspec.Raw | None) -> Headers:
    """The ``Mcp-Param-*`` headers of a ``tools/call``; none for absent and null arguments."""
    headers: list[tuple[str, str]] = []
    for path, header in mirrors:
        value = _value_at(arguments, path)
        if value is not None:
            headers.append((f"Mcp-Param-{header}", value))
    return tuple(headers)


def _value_at(arguments: msgspec.Raw | None, path: Path) -> str | None:
    found = arguments
    for name in path:
        found = (fields_of(found) or {}).get(name)
    text = text_of(found)
    if text is not None:
        return encode_value(text)
    literal = b"" if found is None else bytes(found)
    if literal in (b"true", b"false") or _NUMBER.fullmatch(literal):
        return literal.decode()
    return None


def mirrors_of(schema: msgspec.Raw | None) -> tuple[Mirror, ...]:
    """The annotations of an input schema; raise :class:`IllegalAnnotation` if one is not legal."""
    if schema is None or not _may_be_annotated(bytes(schema)):
        return ()
    mirrors: list[Mirror] = []
    names: set[str] = set()
    # An explicit stack: the depth of a schema is the server's choice.
    pending: list[tuple[msgspec.Raw, Path | None]] = [(schema, ())]
    while pending:
        current, path = pending.pop()
        fields = fields_of(current)
        if fields is None:
            continue
        if _ANNOTATION in fields:
            header = _legal_header(fields, path)
            if header.lower() in names:
                raise IllegalAnnotation(f"the header {header!r} is named twice")
            names.add(header.lower())
            mirrors.append((path or (), header))
        pending += _subschemas(fields, path)
    return tuple(mirrors)


def _may_be_annotated(schema: bytes) -> bool:
    return _ANNOTATION.encode() in schema or b"\\u" in schema


def _legal_header(fields: Fields, path: Path | None) -> str:
    """The header that a schema names; ``path`` is None where ``properties`` alone do not lead."""
    header = text_of(fields[_ANNOTATION])
    if header is None or not _TOKEN.fullmatch(header):
        raise IllegalAnnotation(f"{_ANNOTATION} is not a header name")
    if not path:
        raise IllegalAnnotation(f"{_ANNOTATION} {header!r} is not on a property of the root")
    if text_of(fields.get("type")) not in _TYPES:
        raise IllegalAnnotation(
            f"{_ANNOTATION} {header!r} is on a property that is no string, integer or boolean"
        )
    return header


def _subschemas(fields: Fields, path: Path | None) -> Iterator[tuple[msgspec.Raw, Path | None]]:
    """The schemas inside a schema. Other members are data, whatever they look like."""
    for keyword, value in fields.items():
        if keyword == "properties":
            for name, schema in (fields_of(value) or {}).items():
                yield schema, None if path is None else (*path, name)
            continue
        if keyword in _SCHEMA_KEYWORDS:
            yield value, None
        if keyword in _LIST_KEYWORDS:
            yield from ((schema, None) for schema in items_of(value))
        if keyword in _MAP_KEYWORDS:
            yield from ((schema, None) for schema in (fields_of(value) or {}).values())
