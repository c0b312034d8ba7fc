"""A change of a surface is classed by whom it hurts."""

from __future__ import annotations

import pytest
from hypothesis import given

from relay.suite.document import Json, Object
from relay.suite.surface import Surface, snapshot
from relay.suite.surface_diff import Change, Impact, diff
from tests.relay.suite.schemas import SAMPLES, Schema, closed, edits, exhaustive, is_valid

Told = tuple[str, str, str]


def surface(*tools: Json, **server: str) -> Surface:
    taken = snapshot(tools, server)
    assert isinstance(taken, Surface)
    return taken


def changes(old: Object, new: Object) -> tuple[Change, ...]:
    return diff(surface({"name": "t", **old}), surface({"name": "t", **new}))


def told(old: Object, new: Object) -> list[Told]:
    return [(one.impact.value, one.code.value, one.path) for one in changes(old, new)]


def of_object(properties: Schema, *required: str, **others: object) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), **others}


@exhaustive
@given(edits())
def test_calls_stay_valid_if_nothing_breaks_them(pair: tuple[Schema, Schema]) -> None:
    old, new = pair
    found = changes({"inputSchema": old}, {"inputSchema": new})
    if Impact.BREAKING not in {change.impact for change in found}:
        declared = closed(old)
        for value in SAMPLES:
            if is_valid(old, value) and is_valid(declared, value):
                assert is_valid(new, value), value


@exhaustive
@given(edits())
def test_results_keep_their_promise_if_nothing_breaks_it(pair: tuple[Schema, Schema]) -> None:
    old, new = pair
    found = changes({"outputSchema": old}, {"outputSchema": new})
    if Impact.BREAKING not in {change.impact for change in found}:
        for value in SAMPLES:
            if is_valid(new, value):
                assert is_valid(old, value), value


TEXT: Schema = {"type": "string"}


@pytest.mark.parametrize(
    ("old", "new", "of_input", "of_output"),
    [
        (of_object({}), of_object({"a": TEXT}), "additive", "additive"),
        (of_object({}), of_object({"a": TEXT}, "a"), "breaking", "additive"),
        (of_object({"a": TEXT}), of_object({}), "breaking", "breaking"),
        (of_object({"a": TEXT}), of_object({"a": TEXT}, "a"), "breaking", "additive"),
        (of_object({"a": TEXT}, "a"), of_object({"a": TEXT}), "additive", "breaking"),
        (of_object({}), of_object({}, additionalProperties=False), "breaking", "additive"),
        (of_object({}, additionalProperties=False), of_object({}), "additive", "breaking"),
        ({"type": "number"}, {"type": "integer"}, "breaking", "additive"),
        ({"type": "integer"}, {"type": "number"}, "additive", "breaking"),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, "breaking", "additive"),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, "additive", "breaking"),
        ({"maxLength": 5}, {"maxLength": 3}, "breaking", "additive"),
        ({"minimum": 5}, {}, "additive", "breaking"),
        ({"x-unknown": 1}, {"x-unknown": 2}, "breaking", "breaking"),
        ({"default": 1}, {"default": 2}, "breaking", "cosmetic"),
        ({"description": "a"}, {"description": "b"}, "cosmetic", "cosmetic"),
    ],
)
def test_a_schema_breaks_callers_by_taking_less_and_by_promising_less(
    old: Schema, new: Schema, of_input: str, of_output: str
) -> None:
    [sent] = changes({"inputSchema": old}, {"inputSchema": new})
    assert sent.impact.value == of_input
    assert sent.path.startswith("inputSchema")
    [received] = changes({"outputSchema": old}, {"outputSchema": new})
    assert received.impact.value == of_output
    assert received.path.startswith("outputSchema")


def test_tools_come_and_go() -> None:
    found = diff(surface({"name": "a"}, {"name": "b"}), surface({"name": "b"}, {"name": "c"}))
    assert [(one.impact.value, one.code.value, one.tool) for one in found] == [
        ("breaking", "TOOL_REMOVED", "a"),
        ("additive", "TOOL_ADDED", "c"),
    ]


def test_an_output_schema_comes_and_goes() -> None:
    promised: Object = {"outputSchema": {"type": "object"}}
    assert told({}, promised) == [("additive", "OUTPUT_SCHEMA_ADDED", "outputSchema")]
    assert told(promised, {}) == [("breaking", "OUTPUT_SCHEMA_REMOVED", "outputSchema")]


def test_an_input_schema_that_comes_is_compared_with_one_that_takes_all() -> None:
    assert told({}, {"inputSchema": {}}) == []
    assert told({}, {"inputSchema": {"type": "object"}}) == [
        ("breaking", "TYPE_NARROWED", "inputSchema.type")
    ]


def test_words_are_cosmetic() -> None:
    assert told({"title": "a"}, {"description": "b"}) == [
        ("cosmetic", "TITLE_CHANGED", "title"),
        ("cosmetic", "DESCRIPTION_CHANGED", "description"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "impact"),
    [
        ({"readOnlyHint": True}, {"readOnlyHint": False}, "breaking"),
        ({"readOnlyHint": True}, {}, "breaking"),
        ({"readOnlyHint": False}, {"readOnlyHint": True}, "additive"),
        ({"readOnlyHint": False}, {}, "cosmetic"),
        ({"destructiveHint": False}, {"destructiveHint": True}, "breaking"),
        ({"destructiveHint": False}, {}, "breaking"),
        ({"destructiveHint": True}, {"destructiveHint": False}, "additive"),
        ({"destructiveHint": True}, {"destructiveHint": "no"}, "cosmetic"),
        ({"idempotentHint": True}, {"idempotentHint": False}, "breaking"),
        ({}, {"idempotentHint": True}, "additive"),
        ({"openWorldHint": False}, {"openWorldHint": True}, "breaking"),
        ({"openWorldHint": True}, {"openWorldHint": False}, "additive"),
        ({"title": "a"}, {"title": "b"}, "cosmetic"),
        ({"vendorHint": 1}, {"vendorHint": 2}, "breaking"),
    ],
)
def test_an_annotation_breaks_trust_or_earns_it(old: Object, new: Object, impact: str) -> None:
    [found] = told({"annotations": old}, {"annotations": new})
    assert found[:2] == (impact, "ANNOTATION_CHANGED")
    assert found[2].startswith("annotations.")


def test_what_a_tool_that_only_reads_says_of_its_writing_means_nothing() -> None:
    reads: Object = {"readOnlyHint": True}
    old: Object = {**reads, "destructiveHint": False, "idempotentHint": True}
    new: Object = {**reads, "destructiveHint": True, "idempotentHint": False}
    found = told({"annotations": old}, {"annotations": new})
    assert {impact for impact, _, _ in found} == {"cosmetic"}


def test_another_way_to_run_breaks() -> None:
    found = told({"execution": {"taskSupport": "optional"}}, {})
    assert found == [("breaking", "EXECUTION_CHANGED", "execution")]


def test_another_server_is_cosmetic() -> None:
    found = diff(surface(name="a", version="1"), surface(name="a", version="2", revision="x"))
    assert [(one.impact.value, one.tool, one.path) for one in found] == [
        ("cosmetic", None, "server.revision"),
        ("cosmetic", None, "server.version"),
    ]


def test_a_surface_does_not_differ_from_itself_in_another_order() -> None:
    old = {"name": "t", "inputSchema": of_object({"a": TEXT, "b": {"enum": [1, 2]}}, "a", "b")}
    new = {"inputSchema": of_object({"b": {"enum": [2, 1]}, "a": TEXT}, "b", "a"), "name": "t"}
    assert diff(surface(old, {"name": "u"}), surface({"name": "u"}, new)) == ()


def test_a_change_says_why_it_matters() -> None:
    old = of_object({"unit": {"enum": ["c", "f"]}})
    new = of_object({"unit": {"enum": ["c"]}})
    [sent] = changes({"inputSchema": old}, {"inputSchema": new})
    assert sent.why == '["f"] no longer fit: a call that was valid may be refused'
    assert (sent.tool, sent.path) == ("t", "inputSchema.properties.unit.enum")
    assert (sent.old, sent.new) == (["c", "f"], ["c"])
