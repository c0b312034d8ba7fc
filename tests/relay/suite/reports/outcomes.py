"""Outcomes for tests of reports: what a run would have told, made without a server."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from relay.suite.events import CaseEnded, CaseStarted, Event, SuiteEnded, SuiteStarted
from relay.suite.judge import judge, unavailable
from relay.suite.judgement import Answer, Diagnostic, DiagnosticCode, RpcResult
from relay.suite.load import Loaded, Unusable, load
from relay.suite.outcome import CaseOutcome, CaseStatus, ServerInfo, SuiteOutcome
from relay.suite.reports.details import Refused
from relay.suite.reports.style import Style
from relay.suite.reports.text import TextReport
from relay.suite.suite import Case

SOURCE = "suites/rig.json"
SERVER = ServerInfo("rig", "1.2", "2025-11-25", "legacy")
SLOW = Diagnostic(DiagnosticCode.OPERATION_FAILED, "there was no answer within 9 ms", "wait longer")


def said(text: str, **members: object) -> RpcResult:
    """The result of a tool that answers with a text."""
    return RpcResult({"content": [{"type": "text", "text": text}], **members})


def judged(case: Case, answer: Answer, seconds: float = 0.012) -> CaseOutcome:
    judgement = judge(case.operation, case.assertions, answer)
    status = CaseStatus.PASSED if judgement.passed else CaseStatus.FAILED
    return CaseOutcome(case, status, judgement, seconds)


def timed_out(case: Case) -> CaseOutcome:
    judgement = unavailable(case.assertions, SLOW)
    return CaseOutcome(case, CaseStatus.TIMED_OUT, judgement, 0.009)


def ended(loaded: Loaded, cases: Iterable[CaseOutcome], **fields: Any) -> SuiteOutcome:
    """What came of a suite, begun at the first second of 2026."""
    given = {"seconds": 1.5, "started": 1767225600.0, "server": SERVER, **fields}
    return SuiteOutcome(
        loaded.suite, SOURCE, loaded.fingerprint, loaded.approval, tuple(cases), **given
    )


def refused(data: bytes = b'{"schemaVersion": 1, "id": "s", "name": "n"}') -> Refused:
    """What came of a file that is no suite."""
    unusable = load(data)
    assert isinstance(unusable, Unusable)
    return Refused("suites/bad.json", unusable)


def told(events: Iterable[Event], style: Style | None = None) -> str:
    """The text of a run."""
    stream = io.StringIO()
    report = TextReport(stream, style or Style())
    for event in events:
        report.tell(event)
    return stream.getvalue()


def run_of(loaded: Loaded, outcome: SuiteOutcome) -> Iterable[Event]:
    """What a run tells that comes to this."""
    yield SuiteStarted(loaded, outcome.source)
    total = len(outcome.cases)
    for number, case in enumerate(outcome.cases, 1):
        yield CaseStarted(case.case, number, total)
        yield CaseEnded(case, number, total)
    yield SuiteEnded(outcome)
