"""What came of a run, for a program: the document of the format's own runner, and what it lacks.

One file makes one document; of several files the documents are the ``suites`` of another. What the
other runner does not have stands under ``run``. A document is written case by case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from relay.redaction import redact
from relay.suite.canonical import compact
from relay.suite.document import Json, Object
from relay.suite.issues import Issue
from relay.suite.judgement import Diagnostic
from relay.suite.outcome import (
    CaseOutcome,
    CaseStatus,
    ServerEnd,
    StopReason,
    SuiteOutcome,
    SuiteStatus,
)
from relay.suite.reports import violations
from relay.suite.reports.details import Ended, Refused, body_lines, stderr_lines
from relay.suite.reports.masking import masked, masked_beginning, masked_schema
from relay.suite.reports.rejection import (
    NO_REJECTION,
    UNKNOWN_REJECTION,
    Rejection,
    RejectionBasis,
    expects_rejection,
)
from relay.suite.reports.visible import escaped_in_json
from relay.suite.suite import (
    BodyMatchesSchema,
    CallTool,
    Case,
    StructuredContentMatchesSchema,
    type_of,
)

REPORT_VERSION = 1

Rejections = Mapping[tuple[str, str], Rejection]
"""What is known of errors that were expected, by the source of the suite and the id of the case."""

_STOPS = {"interrupted": "abortSignal"}
_JUDGED = (CaseStatus.PASSED, CaseStatus.FAILED)
_CODES = {CaseStatus.TIMED_OUT: "CASE_TIMEOUT", CaseStatus.CANCELLED: "RUN_ABORTED"}


def write_json(
    ended: Sequence[Ended], stream: TextIO, rejections: Rejections | None = None
) -> None:
    """Write what came of each file."""
    known = rejections or {}
    if len(ended) == 1:
        stream.writelines(_document(ended[0], known))
    else:
        stream.writelines(_documents(ended, known))
    stream.write("\n")


def _documents(ended: Sequence[Ended], known: Rejections) -> Iterator[str]:
    total: Counter[str] = Counter()
    for one in ended:
        total.update(_summary(one, known))
    head: Object = {"schemaVersion": REPORT_VERSION, "status": status_of(ended).value}
    yield from _array({**head, "summary": dict[str, Json](total)}, "suites")
    for number, one in enumerate(ended):
        yield ",\n" if number else "\n"
        yield from _document(one, known)
    yield "\n]}"


def status_of(ended: Iterable[Ended]) -> SuiteStatus:
    """The worst status of any: that some file could not be run to its end is worse than failure."""
    found = {one.status for one in ended}
    worst = (SuiteStatus.ABORTED, SuiteStatus.FAILED)
    return next((status for status in worst if status in found), SuiteStatus.PASSED)


def _document(ended: Ended, known: Rejections) -> Iterator[str]:
    head = _refused(ended) if isinstance(ended, Refused) else _head(ended)
    summary: Object = dict(_summary(ended, known))
    yield from _array({"schemaVersion": REPORT_VERSION, **head, "summary": summary}, "cases")
    if isinstance(ended, SuiteOutcome):
        for number, outcome in enumerate(ended.cases):
            yield ",\n" if number else "\n"
            yield _text(_case(ended, outcome, _rejection(ended, outcome, known)))
    yield "\n]}"


def _array(head: Object, name: str) -> Iterator[str]:
    """An object that ends in an array, as far as the array's first item."""
    yield f'{_text(head).removesuffix("}")},"{name}":['


def _text(value: Json) -> str:
    return escaped_in_json(compact(value))


# -- the suite --


def _head(outcome: SuiteOutcome) -> Object:
    suite = outcome.suite
    named: Object = {"id": redact(suite.id), "name": redact(suite.name)}
    if suite.default_timeout_ms is not None:
        named["defaultTimeoutMs"] = suite.default_timeout_ms
    head: Object = {"suite": named, "status": outcome.status.value}
    if outcome.stop is not None:
        head["stopReason"] = _stop(outcome.stop)
    return {**head, "spec": _spec(outcome), "run": _run(outcome)}


def _stop(stop: StopReason) -> Object:
    case: Object = {} if stop.case_id is None else {"caseId": redact(stop.case_id)}
    told: Object = {"message": redact(stop.message), "hint": redact(stop.hint)}
    return {"type": _STOPS.get(stop.kind, stop.kind), **case, **told}


def _spec(outcome: SuiteOutcome) -> Object:
    """The approval. Nothing is found by comparison with the tools, which nobody asked to list."""
    spec: Object = {"approval": outcome.approval.value, "fingerprint": outcome.fingerprint}
    approval = outcome.suite.approval
    if approval is not None:
        spec["approvedFingerprint"] = approval.fingerprint
        if approval.cases is not None:
            spec["cases"] = [
                {"id": redact(case.id), "status": case.status} for case in approval.cases
            ]
    return {**spec, "findings": []}


def _run(outcome: SuiteOutcome) -> Object:
    server = outcome.server
    return {
        "source": redact(outcome.source),
        "startedAt": datetime.fromtimestamp(outcome.started, UTC).isoformat(
            timespec="milliseconds"
        ),
        "seconds": round(outcome.seconds, 6),
        "server": None if server is None else masked(msgspec.structs.asdict(server)),
        "ends": [_end(end) for end in outcome.ends],
    }


def _end(end: ServerEnd) -> Object:
    return {
        "detail": redact(end.detail),
        "exitCode": end.exit_code,
        "signal": end.signal,
        "stderr": "\n".join(stderr_lines(end)),
        "noise": [redact(line) for line in end.noise],
    }


def _refused(refused: Refused) -> Object:
    code = refused.unusable.code
    message = "the file is no suite that can be run"
    return {
        "suite": None,
        "status": refused.status.value,
        "stopReason": {"type": "unusable", "code": code, "message": message},
        "run": {
            "source": redact(refused.source),
            "issues": [_issue(issue) for issue in refused.unusable.issues],
        },
    }


def _issue(issue: Issue) -> Object:
    place: Object = {} if issue.line is None else {"line": issue.line, "column": issue.column}
    return {
        "code": issue.code.value,
        "path": redact(issue.path),
        "message": redact(issue.message),
        "hint": redact(issue.hint),
        **place,
    }


def _summary(ended: Ended, known: Rejections) -> dict[str, int]:
    names = [status.value for status in CaseStatus]
    if isinstance(ended, Refused):
        return dict.fromkeys(("total", *names, "rejectionUnverified"), 0)
    unverified = sum(
        _rejection(ended, outcome, known).basis is RejectionBasis.UNVERIFIED
        for outcome in ended.cases
    )
    counts = {status.value: count for status, count in ended.counts.items()}
    return {"total": len(ended.cases), **counts, "rejectionUnverified": unverified}


def _rejection(ended: SuiteOutcome, outcome: CaseOutcome, known: Rejections) -> Rejection:
    """What is known of an error that was expected and came."""
    if outcome.status is not CaseStatus.PASSED or not expects_rejection(outcome.case):
        return NO_REJECTION
    return known.get((ended.source, outcome.case.id), UNKNOWN_REJECTION)


# -- a case --


def _case(ended: SuiteOutcome, outcome: CaseOutcome, rejection: Rejection) -> Object:
    case: Object = {
        "spec": _case_spec(outcome.case),
        "status": outcome.status.value,
        "operation": _operation(ended, outcome),
        "assertions": list(_assertions(outcome)),
        "rejectionBasis": rejection.basis.value,
    }
    if rejection.body is not None:
        case["rejectionBody"] = rejection.body
    run: Object = {"seconds": round(outcome.seconds, 6)}
    if outcome.notes:
        run["notes"] = [redact(note) for note in outcome.notes]
    return {**case, "run": run}


def _case_spec(case: Case) -> Object:
    spec: Object = {"id": redact(case.id), "name": redact(case.name)}
    if case.timeout_ms is not None:
        spec["timeoutMs"] = case.timeout_ms
    operation: Object = {"type": type_of(type(case.operation))}
    if isinstance(case.operation, CallTool):
        operation |= {"tool": redact(case.operation.tool), "input": masked(case.operation.input)}
    return {**spec, "operation": operation, "assertions": list(_assertion_specs(case))}


def _assertion_specs(case: Case) -> Iterator[Json]:
    for assertion in case.assertions:
        spec: Object = {"type": type_of(type(assertion))}
        if isinstance(assertion, BodyMatchesSchema | StructuredContentMatchesSchema):
            yield {**spec, "schema": masked_schema(assertion.schema)}
        else:
            yield {**spec, **_members(masked(msgspec.structs.asdict(assertion)))}


def _members(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _operation(ended: SuiteOutcome, outcome: CaseOutcome) -> Object:
    diagnostic = outcome.judgement.operation if outcome.judgement else None
    if outcome.status in _JUDGED:
        if diagnostic is None:
            return {"status": "completed"}
        return {"status": "failed", "diagnostic": _diagnostic(diagnostic)}
    operation: Object = {"status": outcome.status.value}
    if outcome.status is CaseStatus.TIMED_OUT:
        operation["timeoutMs"] = ended.suite.timeout_ms(outcome.case)
    if diagnostic is not None:
        told = _diagnostic(diagnostic)
        operation["diagnostic"] = {**told, "code": _CODES.get(outcome.status, diagnostic.code)}
    return operation


def _assertions(outcome: CaseOutcome) -> Iterator[Json]:
    specs = _assertion_specs(outcome.case)
    if outcome.judgement is None:
        yield from ({"spec": spec, "status": "notRun"} for spec in specs)
        return
    for spec, verdict in zip(specs, outcome.judgement.verdicts, strict=True):
        judged: Object = {"spec": spec, "status": verdict.status.value}
        if verdict.diagnostic is not None:
            judged["diagnostic"] = _diagnostic(verdict.diagnostic)
        yield judged


def _diagnostic(diagnostic: Diagnostic) -> Object:
    told: Object = {"code": diagnostic.code.value, "message": redact(diagnostic.message)}
    if diagnostic.expected is not None:
        told["expected"] = masked_beginning(diagnostic.expected)
    if diagnostic.actual is not None:
        told["actual"] = masked_beginning(diagnostic.actual)
    told["hint"] = redact(diagnostic.hint)
    if diagnostic.total_violations:
        found = map(violations.safe, diagnostic.violations)
        told["violations"] = [dict(violations.fields(violation)) for violation in found]
        told["totalViolations"] = diagnostic.total_violations
    if diagnostic.body is not None:
        told["notes"] = list[Json](body_lines(diagnostic))
    return told
