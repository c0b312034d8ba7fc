"""The verdict on what a server answered: each assertion of a case, held against the answer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import cast

from msgspec import Struct

from relay.suite.canonical import by_code_unit
from relay.suite.document import Object
from relay.suite.extraction import (
    Extracted,
    ExtractionFault,
    NotExtracted,
    body_of,
    structured_content_of,
)
from relay.suite.judgement import (
    Answer,
    Diagnostic,
    DiagnosticCode,
    Judgement,
    RpcError,
    Status,
    Verdict,
)
from relay.suite.schema_match import matched
from relay.suite.suite import (
    Assertion,
    BodyMatchesSchema,
    IsError,
    ListTools,
    Operation,
    ToolExists,
)
from relay.suite.tool_results import fault_of_call, fault_of_list
from relay.suite.wording import counted, nearest, shown


def judge(operation: Operation, assertions: Iterable[Assertion], answer: Answer) -> Judgement:
    """Hold the answer to an operation against assertions, each by itself."""
    if isinstance(answer, RpcError):
        return unavailable(assertions, _refused(answer))
    result = answer.value
    lists = isinstance(operation, ListTools)
    fault = fault_of_list(result) if lists else fault_of_call(result)
    if fault is not None:
        return unavailable(assertions, _malformed(fault))
    judged = _Judged(cast(Object, result))
    return Judgement(None, tuple(judged.verdict(assertion) for assertion in assertions))


def unavailable(assertions: Iterable[Assertion], reason: Diagnostic) -> Judgement:
    """The judgement where there is no result, for whatever reason: no assertion is looked at."""
    skipped = Diagnostic(
        DiagnosticCode.OPERATION_RESULT_UNAVAILABLE,
        "not judged: the operation gave no result",
        "see why the operation failed",
    )
    verdicts = (Verdict(assertion, Status.SKIPPED, skipped) for assertion in assertions)
    return Judgement(reason, tuple(verdicts))


def _refused(error: RpcError) -> Diagnostic:
    actual: Object = {"code": error.code, "message": error.message}
    return Diagnostic(
        DiagnosticCode.OPERATION_FAILED,
        f"the server answered with the JSON-RPC error {error.code} and not with a result",
        "isError is a member of a result: a JSON-RPC error cannot be expected by it",
        actual=actual if error.data is None else {**actual, "data": error.data},
    )


def _malformed(fault: str) -> Diagnostic:
    return Diagnostic(
        DiagnosticCode.OPERATION_FAILED,
        f"the server's result is not as MCP has it: {fault}",
        "mend the server: clients refuse such a result",
    )


class _Judged:
    """One result; what several assertions look at is taken from it once."""

    def __init__(self, result: Object) -> None:
        self._result = result

    def verdict(self, assertion: Assertion) -> Verdict:
        diagnostic = self._diagnostic(assertion)
        status = Status.PASSED if diagnostic is None else Status.FAILED
        return Verdict(assertion, status, diagnostic)

    def _diagnostic(self, assertion: Assertion) -> Diagnostic | None:
        match assertion:
            case ToolExists(tool):
                return self._tool_exists(tool)
            case IsError(expected):
                return self._is_error(expected)
            case BodyMatchesSchema(schema):
                return _matches(_BODY, self._body, schema)
        return _matches(_STRUCTURED, structured_content_of(self._result), assertion.schema)

    @cached_property
    def _body(self) -> Extracted | NotExtracted:
        return body_of(self._result)

    @cached_property
    def _tools(self) -> list[str]:
        tools = cast(list[dict[str, str]], self._result["tools"])
        return sorted({tool["name"] for tool in tools}, key=by_code_unit)

    def _tool_exists(self, tool: str) -> Diagnostic | None:
        if tool in self._tools:
            return None
        meant = nearest(tool, self._tools)
        return Diagnostic(
            DiagnosticCode.TOOL_NOT_FOUND,
            f"the server has no tool {shown(tool)} among its {len(self._tools)}",
            f"did you mean {shown(meant)}?" if meant else "name a tool that the server lists",
            expected=tool,
            actual=self._tools,
        )

    def _is_error(self, expected: bool) -> Diagnostic | None:
        actual = self._result.get("isError", False)
        if actual is expected:
            return None
        body = self._body
        return Diagnostic(
            DiagnosticCode.IS_ERROR_MISMATCH,
            f"isError is {shown(actual)}, expected {shown(expected)}",
            "see what the server says in the body"
            if actual
            else "the server accepted an input that it was to reject",
            expected=expected,
            actual=actual,
            body=body.value if isinstance(body, Extracted) else self._result.get("content", []),
        )


class _Subject(Struct, frozen=True):
    """What a schema is held against, and how it is told when that does not do."""

    name: str
    not_extracted: DiagnosticCode
    mismatch: DiagnosticCode


_BODY = _Subject(
    "the body", DiagnosticCode.BODY_EXTRACTION_FAILED, DiagnosticCode.BODY_SCHEMA_MISMATCH
)
_STRUCTURED = _Subject(
    "the structuredContent",
    DiagnosticCode.STRUCTURED_CONTENT_EXTRACTION_FAILED,
    DiagnosticCode.STRUCTURED_CONTENT_SCHEMA_MISMATCH,
)


def _matches(
    subject: _Subject, extracted: Extracted | NotExtracted, schema: Object
) -> Diagnostic | None:
    if isinstance(extracted, NotExtracted):
        message, hint = _NOT_EXTRACTED[extracted.fault]
        return Diagnostic(
            subject.not_extracted,
            message.format(actual=extracted.actual),
            hint,
            fault=extracted.fault,
            actual=extracted.actual,
        )
    found = matched(schema, extracted.value)
    if not found.total:
        return None
    is_text = extracted.form == "text" and schema.get("type") in ("object", "array")
    return Diagnostic(
        subject.mismatch,
        f"{subject.name} differs from the schema in {counted(found.total, 'place')}",
        "the body is a text and not JSON: have the tool answer with JSON, or expect a string"
        if is_text
        else "mend the server, or the schema if the server is right",
        violations=found.violations,
        total_violations=found.total,
    )


_NOT_EXTRACTED = {
    ExtractionFault.CONTENT_NOT_ARRAY: (
        "the result has no content to take a body from, but {actual}",
        "mend the server: content is an array",
    ),
    ExtractionFault.CONTENT_BLOCK_COUNT: (
        "a body is the text of the only content block, and the result has {actual}",
        "assert isError alone, or structuredContentMatchesSchema, of such a result",
    ),
    ExtractionFault.CONTENT_BLOCK_NOT_TEXT: (
        "a body is the text of a text block, and the only block is of the type {actual}",
        "assert isError alone, or structuredContentMatchesSchema, of such a result",
    ),
    ExtractionFault.CONTENT_TEXT_MISSING: (
        "the text of the only content block is {actual}",
        "mend the server: a text block has a text",
    ),
    ExtractionFault.MISSING: (
        "the result has no structuredContent",
        "assert bodyMatchesSchema of a text, or have the server send structuredContent",
    ),
}
