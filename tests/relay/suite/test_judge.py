"""An answer is judged as recorded, and what is no result is not judged at all."""

from __future__ import annotations

from typing import Any

import pytest

from relay.suite.document import Json, Object
from relay.suite.extraction import ExtractionFault
from relay.suite.judge import judge, unavailable
from relay.suite.judgement import (
    Diagnostic,
    DiagnosticCode,
    Judgement,
    RpcError,
    RpcResult,
    Status,
)
from relay.suite.suite import (
    Assertion,
    BodyMatchesSchema,
    CallTool,
    IsError,
    ListTools,
    StructuredContentMatchesSchema,
    ToolExists,
)
from tests.relay.suite.vectors import Vector, lines, on_each

CALL = CallTool("t", {})
OBJECT: Object = {"type": "object", "required": ["a"]}


def text(content: str) -> Object:
    return {"content": [{"type": "text", "text": content}]}


def called(result: Json, *assertions: Assertion) -> Judgement:
    return judge(CALL, assertions, RpcResult(result))


def failed(judgement: Judgement) -> Diagnostic:
    """The diagnostic of the one assertion that there is."""
    [verdict] = judgement.verdicts
    assert verdict.status is Status.FAILED
    assert verdict.diagnostic is not None
    assert judgement.operation is None
    assert not judgement.passed
    return verdict.diagnostic


@on_each("structured")
def test_structured_content_is_judged_as_recorded(vector: Vector) -> None:
    assertion = StructuredContentMatchesSchema(vector["schema"])
    judgement = called(vector["result"], assertion)
    [verdict] = judgement.verdicts
    assert verdict.status == vector["status"]
    found = verdict.diagnostic
    assert (found.code if found else None) == vector["diagnostic"]
    assert (found.fault if found else None) == vector["fault"]
    assert lines(found.violations if found else ()) == vector["violations"]


def test_every_assertion_has_a_verdict_of_its_own() -> None:
    assertions = (IsError(False), IsError(True), BodyMatchesSchema(OBJECT))
    judgement = called(text('{"a": 1}'), *assertions)
    assert [verdict.status.value for verdict in judgement.verdicts] == [
        "passed",
        "failed",
        "passed",
    ]
    assert [verdict.assertion for verdict in judgement.verdicts] == list(assertions)
    assert not judgement.passed


@pytest.mark.parametrize("expected", [True, False])
def test_is_error_has_the_value_expected(expected: bool) -> None:
    assert called({**text("x"), "isError": expected}, IsError(expected)).passed


def test_is_error_is_false_where_it_is_absent() -> None:
    assert called(text("x"), IsError(False)).passed


def test_an_error_that_was_not_expected_shows_what_the_server_said() -> None:
    found = failed(called({**text('{"why": 1}'), "isError": True}, IsError(False)))
    assert found.code is DiagnosticCode.IS_ERROR_MISMATCH
    assert (found.message, found.hint) == (
        "isError is true, expected false",
        "see what the server says in the body",
    )
    assert (found.expected, found.actual, found.body) == (False, True, {"why": 1})


def test_a_success_that_was_not_expected_shows_what_the_server_said() -> None:
    content: list[Json] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    found = failed(called({"content": content}, IsError(True)))
    assert found.message == "isError is false, expected true"
    assert found.body == content


def test_a_body_that_differs_has_violations() -> None:
    found = failed(called({**text("{}"), "isError": True}, BodyMatchesSchema(OBJECT)))
    assert found.code is DiagnosticCode.BODY_SCHEMA_MISMATCH
    assert found.message == "the body differs from the schema in 1 place"
    assert lines(found.violations) == ["REQUIRED_MISSING $"]


def test_violations_are_counted_beyond_those_that_are_listed() -> None:
    schema: Object = {"type": "array", "items": {"type": "string"}}
    found = failed(called(text(str([*range(15)])), BodyMatchesSchema(schema)))
    assert found.message == "the body differs from the schema in 15 places"
    assert (len(found.violations), found.total_violations) == (10, 15)


def test_a_text_where_json_was_expected_is_told_as_such() -> None:
    found = failed(called(text("a: 1"), BodyMatchesSchema(OBJECT)))
    assert found.hint.startswith("the body is a text and not JSON")
    other = failed(called(text("[]"), BodyMatchesSchema(OBJECT)))
    assert other.hint.startswith("mend the server, or the schema")


@pytest.mark.parametrize(
    ("result", "fault", "message"),
    [
        ({}, ExtractionFault.CONTENT_BLOCK_COUNT, "and the result has 0"),
        (
            {"content": [{"type": "image", "data": ""}]},
            ExtractionFault.CONTENT_BLOCK_NOT_TEXT,
            "the only block is of the type image",
        ),
    ],
)
def test_a_result_without_a_body_fails_what_is_asserted_of_it(
    result: Json, fault: ExtractionFault, message: str
) -> None:
    found = failed(called(result, BodyMatchesSchema(OBJECT)))
    assert found.code is DiagnosticCode.BODY_EXTRACTION_FAILED
    assert found.fault is fault
    assert message in found.message


# -- tools/list --


def listed(*names: str) -> RpcResult:
    return RpcResult({"tools": [{"name": name} for name in names]})


def test_a_tool_that_is_listed_exists() -> None:
    assert judge(ListTools(), [ToolExists("b")], listed("a", "b")).passed


def test_a_tool_that_is_not_listed_is_told_with_those_that_are() -> None:
    found = failed(judge(ListTools(), [ToolExists("read_sped")], listed("z", "read_speed", "z")))
    assert found.code is DiagnosticCode.TOOL_NOT_FOUND
    assert found.message == 'the server has no tool "read_sped" among its 2'
    assert found.hint == 'did you mean "read_speed"?'
    assert (found.expected, found.actual) == ("read_sped", ["read_speed", "z"])


def test_a_tool_unlike_any_other_has_no_namesake() -> None:
    found = failed(judge(ListTools(), [ToolExists("T")], listed("abc")))
    assert found.hint == "name a tool that the server lists"


# -- no result --


def skipped(judgement: Judgement) -> Diagnostic:
    """Why nothing was judged."""
    assert [verdict.status for verdict in judgement.verdicts] == [Status.SKIPPED] * len(
        judgement.verdicts
    )
    for verdict in judgement.verdicts:
        assert verdict.diagnostic is not None
        assert verdict.diagnostic.code is DiagnosticCode.OPERATION_RESULT_UNAVAILABLE
    assert not judgement.passed
    assert judgement.operation is not None
    return judgement.operation


@pytest.mark.parametrize("expected", [True, False])
def test_a_json_rpc_error_is_no_is_error(expected: bool) -> None:
    error = RpcError(-32602, "Unknown tool: t", {"tool": "t"})
    found = skipped(judge(CALL, [IsError(expected), BodyMatchesSchema(OBJECT)], error))
    assert found.code is DiagnosticCode.OPERATION_FAILED
    assert "the JSON-RPC error -32602 and not with a result" in found.message
    assert found.actual == {
        "code": -32602,
        "message": "Unknown tool: t",
        "data": {"tool": "t"},
    }


def test_a_json_rpc_error_without_data_is_shown_without() -> None:
    found = skipped(judge(ListTools(), [ToolExists("t")], RpcError(-32601, "no")))
    assert found.actual == {"code": -32601, "message": "no"}


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (None, "result is null, where MCP has an object"),
        ([], "result is an empty array, where MCP has an object"),
        ({"isError": "true"}, 'result.isError is "true", where MCP has true or false'),
        ({"isError": None}, "result.isError is null, where MCP has true or false"),
        ({"content": None}, "result.content is null, where MCP has an array"),
        ({"content": {}}, "result.content is an empty object, where MCP has an array"),
        ({"content": ["x"]}, 'result.content[0] is "x", where MCP has an object'),
        ({"content": [{"text": "x"}]}, "result.content[0].type is missing"),
        ({"content": [{"type": 5}]}, "result.content[0].type is 5, where MCP has a string"),
        ({"content": [{"type": "text"}]}, "result.content[0].text is missing"),
        (
            {"content": [{"type": "text", "text": None}]},
            "result.content[0].text is null, where MCP has a string",
        ),
    ],
)
def test_a_malformed_result_of_a_call_is_not_judged(result: Any, fault: str) -> None:
    found = skipped(called(result, IsError(False), BodyMatchesSchema(OBJECT)))
    assert found.code is DiagnosticCode.OPERATION_FAILED
    assert found.message == f"the server's result is not as MCP has it: {fault}"


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ("x", 'result is "x", where MCP has an object'),
        ({}, "result.tools is missing"),
        ({"tools": {}}, "result.tools is an empty object, where MCP has an array"),
        ({"tools": [{"name": "a"}, 5]}, "result.tools[1] is 5, where MCP has an object"),
        ({"tools": [{"name": 5}]}, "result.tools[0].name is 5, where MCP has a string"),
        ({"tools": [{}]}, "result.tools[0].name is missing"),
    ],
)
def test_a_malformed_list_of_tools_is_not_judged(result: Any, fault: str) -> None:
    found = skipped(judge(ListTools(), [ToolExists("t")], RpcResult(result)))
    assert found.message.endswith(fault)


def test_without_a_result_every_assertion_is_skipped_for_the_reason_given() -> None:
    reason = Diagnostic(DiagnosticCode.OPERATION_FAILED, "the server ended", "see its stderr")
    assert skipped(unavailable([IsError(True), IsError(False)], reason)) is reason
