"""A surface is the same file for the same tools, and what is none is refused with its issues."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.suite.canonical import compact
from relay.suite.document import Json
from relay.suite.surface import NoSurface, Surface, SurfaceFault, load_surface, snapshot
from tests.relay.suite.examples import values
from tests.relay.suite.schemas import exhaustive

TOOL: dict[str, Any] = {
    "name": "t",
    "title": "T",
    "description": "Tells the time.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"b": {}, "a": {}}},
    "outputSchema": {"type": "object"},
    "execution": {"taskSupport": "optional"},
}


def taken(*tools: Json, **server: str) -> Surface:
    surface = snapshot(tools, server)
    assert isinstance(surface, Surface)
    return surface


def refused(document: object) -> list[tuple[str, str]]:
    found = load_surface(compact(document).encode())
    assert isinstance(found, NoSurface)
    assert found.code is SurfaceFault.VALIDATION_FAILED
    assert all(issue.message and issue.hint and issue.line for issue in found.issues)
    return [(issue.code.value, issue.path) for issue in found.issues]


def test_a_surface_is_read_as_it_was_written() -> None:
    surface = taken(TOOL, name="clock", version="1", revision="2025-11-25")
    again = load_surface(surface.text.encode())
    assert isinstance(again, Surface)
    assert again.tools == {"t": TOOL}
    assert again.server == {"name": "clock", "version": "1", "revision": "2025-11-25"}
    assert (again.text, again.fingerprint) == (surface.text, surface.fingerprint)


@exhaustive
@given(st.lists(values | values.map(lambda value: {**TOOL, "inputSchema": value})))
def test_whatever_a_server_lists_is_a_surface_or_refused(tools: list[Json]) -> None:
    surface = snapshot(tools)
    if isinstance(surface, Surface):
        again = load_surface(surface.text.encode())
        assert isinstance(again, Surface)
        assert again.text == surface.text
    else:
        assert surface.issues


def test_neither_order_nor_what_passes_changes_the_file() -> None:
    reordered = dict(reversed(TOOL.items()))
    reordered["inputSchema"] = {"properties": {"a": {}, "b": {}}, "type": "object"}
    passing = {**reordered, "_meta": {"at": 1}, "icons": [], "title": "T"}
    one, other = taken(TOOL, {"name": "a"}), taken({"name": "a", "title": None}, passing)
    assert one.text == other.text
    assert one.fingerprint == other.fingerprint
    assert list(other.tools) == ["a", "t"]


def test_the_fingerprint_is_of_the_tools_alone() -> None:
    assert taken(TOOL, version="1").fingerprint == taken(TOOL).fingerprint
    assert taken(TOOL).fingerprint != taken({**TOOL, "title": "U"}).fingerprint
    assert taken().fingerprint != taken(TOOL).fingerprint


@pytest.mark.parametrize(
    ("document", "issues"),
    [
        (5, [("INVALID_TYPE", "$")]),
        (
            {},
            [("MISSING_REQUIRED_FIELD", "schemaVersion"), ("MISSING_REQUIRED_FIELD", "tools")],
        ),
        (
            {"schemaVersion": 2, "tools": {}, "tool": []},
            [
                ("UNSUPPORTED_SCHEMA_VERSION", "schemaVersion"),
                ("UNKNOWN_FIELD", "tool"),
                ("INVALID_TYPE", "tools"),
            ],
        ),
        (
            {"schemaVersion": True, "tools": [], "server": "s"},
            [("UNSUPPORTED_SCHEMA_VERSION", "schemaVersion"), ("INVALID_TYPE", "server")],
        ),
        (
            {"schemaVersion": 1, "tools": [], "server": {"name": 5, "url": ""}},
            [("INVALID_TYPE", "server.name"), ("UNKNOWN_FIELD", "server.url")],
        ),
        (
            {"schemaVersion": 1, "tools": [5, {"title": "a"}, TOOL, TOOL, {"name": " "}]},
            [
                ("INVALID_TYPE", "tools[0]"),
                ("MISSING_REQUIRED_FIELD", "tools[1].name"),
                ("INVALID_VALUE", "tools[3].name"),
                ("INVALID_VALUE", "tools[4].name"),
            ],
        ),
        (
            {
                "schemaVersion": 1,
                "tools": [{"name": "t", "description": 5, "inputSchema": [], "_meta": {}}],
            },
            [
                ("INVALID_TYPE", "tools[0].description"),
                ("INVALID_TYPE", "tools[0].inputSchema"),
                ("UNKNOWN_FIELD", "tools[0]._meta"),
            ],
        ),
    ],
)
def test_each_thing_that_is_wrong_is_told(document: Json, issues: list[tuple[str, str]]) -> None:
    assert refused(document) == issues


def test_a_number_that_json_does_not_have_is_refused() -> None:
    data = b'{"schemaVersion": 1, "tools": [{"name": "t", "inputSchema": {"maximum": 1e400}}]}'
    found = load_surface(data)
    assert isinstance(found, NoSurface)
    assert [issue.path for issue in found.issues] == ["tools[0].inputSchema.maximum"]


def test_a_file_that_is_no_json_is_refused_with_the_place() -> None:
    found = load_surface(b'{\n "tools": [,]}')
    assert isinstance(found, NoSurface)
    assert found.code is SurfaceFault.JSON_INVALID
    assert [(issue.line, issue.column) for issue in found.issues] == [(2, 12)]


def test_a_file_in_another_encoding_is_refused() -> None:
    found = load_surface('{"tools": "ü"}'.encode("latin-1"))
    assert isinstance(found, NoSurface)
    assert found.code is SurfaceFault.ENCODING_INVALID


def test_tools_of_one_name_are_no_surface() -> None:
    found = snapshot([TOOL, TOOL])
    assert isinstance(found, NoSurface)
    assert "another tool" in found.issues[0].message
