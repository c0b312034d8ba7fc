"""Suites for tests, and a strategy for JSON values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from relay.suite.canonical import compact
from relay.suite.document import parse
from relay.suite.load import Loaded, load

Document = dict[str, Any]


def call(*assertions: Document, **fields: object) -> Document:
    """A case that calls a tool."""
    return {
        "id": "c1",
        "name": "a case",
        "operation": {"type": "callTool", "tool": "t", "input": {}},
        "assertions": list(assertions) or [{"type": "isError", "expected": False}],
        **fields,
    }


def listing(*tools: str) -> Document:
    """A case that lists the tools."""
    return {
        "id": "c2",
        "name": "a list",
        "operation": {"type": "listTools"},
        "assertions": [{"type": "toolExists", "tool": tool} for tool in tools],
    }


def suite(*cases: Document, **fields: object) -> Document:
    return {"schemaVersion": 1, "id": "s", "name": "n", "cases": list(cases), **fields}


def body(schema: object) -> Document:
    return {"type": "bodyMatchesSchema", "schema": schema}


def loaded(document: Document) -> Loaded:
    found = load(compact(document).encode())
    assert isinstance(found, Loaded)
    return found


numbers = st.integers(-3, 3) | st.floats(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("ab01é😀", max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
).map(lambda value: parse(compact(value)))
"""JSON values as they are parsed."""
