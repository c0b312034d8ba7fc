"""What a judge is told and what it says: answers, verdicts and their diagnostics."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from relay.suite.document import Json
from relay.suite.extraction import ExtractionFault
from relay.suite.schema_match import Violation
from relay.suite.suite import Assertion


class Status(StrEnum):
    """How an assertion ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class DiagnosticCode(StrEnum):
    """Why an operation or an assertion did not pass."""

    OPERATION_FAILED = "OPERATION_FAILED"
    OPERATION_RESULT_UNAVAILABLE = "OPERATION_RESULT_UNAVAILABLE"
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    IS_ERROR_MISMATCH = "IS_ERROR_MISMATCH"
    BODY_EXTRACTION_FAILED = "BODY_EXTRACTION_FAILED"
    BODY_SCHEMA_MISMATCH = "BODY_SCHEMA_MISMATCH"
    STRUCTURED_CONTENT_EXTRACTION_FAILED = "STRUCTURED_CONTENT_EXTRACTION_FAILED"
    STRUCTURED_CONTENT_SCHEMA_MISMATCH = "STRUCTURED_CONTENT_SCHEMA_MISMATCH"


class Diagnostic(Struct, frozen=True):
    """Why something did not pass, and what to do about it.

    ``message`` and ``hint`` are short. What the server said stands in ``actual``, ``body`` and
    ``violations`` as it came, for a report to mask and to cut.
    """

    code: DiagnosticCode
    message: str
    hint: str
    expected: Json = None
    actual: Json = None
    body: Json = None
    fault: ExtractionFault | None = None
    violations: tuple[Violation, ...] = ()
    total_violations: int = 0


class Verdict(Struct, frozen=True):
    """How one assertion ended; without a diagnostic it passed."""

    assertion: Assertion
    status: Status
    diagnostic: Diagnostic | None = None


class Judgement(Struct, frozen=True):
    """How a case ended: ``operation`` says why there was no result to judge, if there was none."""

    operation: Diagnostic | None
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        return all(verdict.status is Status.PASSED for verdict in self.verdicts)


class RpcResult(Struct, frozen=True):
    """The ``result`` of a response; of ``tools/list`` that with the tools of all pages."""

    value: Json


class RpcError(Struct, frozen=True):
    """The ``error`` of a response. It is no result, so no ``isError`` can be read from it."""

    code: int
    message: str
    data: Json = None


Answer: TypeAlias = RpcResult | RpcError
