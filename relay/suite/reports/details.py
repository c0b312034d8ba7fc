"""What there is to say of a case, a server and a run, in lines that are safe to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, cast

from msgspec import Struct

from relay.redaction import redact
from relay.suite.determinism import Difference
from relay.suite.document import Object
from relay.suite.issues import Issue
from relay.suite.judgement import Diagnostic, DiagnosticCode, Status
from relay.suite.load import ApprovalState, Unusable
from relay.suite.outcome import (
    CaseOutcome,
    CaseStatus,
    ServerEnd,
    StopReason,
    SuiteOutcome,
    SuiteStatus,
)
from relay.suite.reports import violations
from relay.suite.reports.masking import cut, masked_beginning
from relay.suite.reports.visible import visible, visible_lines
from relay.suite.suite import Approval, type_of
from relay.suite.wording import counted, excerpt, shown

STDERR_LINES = 20
_LONGEST_LINE = 1000
_LONGEST_BODY = 600
_MOST_BODY_LINES = 12
_MOST_TOOLS = 20

STATUS_WORDS = {
    CaseStatus.PASSED: "passed",
    CaseStatus.FAILED: "failed",
    CaseStatus.TIMED_OUT: "timed out",
    CaseStatus.CANCELLED: "cancelled",
    CaseStatus.NOT_RUN: "not run",
}


class Refused(Struct, frozen=True):
    """A file that could not be run, for it is no suite."""

    source: str
    unusable: Unusable

    @property
    def status(self) -> SuiteStatus:
        return SuiteStatus.ABORTED


Ended = SuiteOutcome | Refused
"""What came of one file of a run."""


class Line(Struct, frozen=True):
    """One line, ``depth`` steps in. A ``hint`` says what to do."""

    text: str
    depth: int = 0
    kind: Literal["fact", "hint"] = "fact"


def safe(text: str) -> str:
    """A text of whatever origin as one line that may be shown."""
    return visible(redact(text))


def plain(lines: Iterable[Line]) -> str:
    """Lines as a text."""
    return "\n".join(f"{'  ' * line.depth}{line.text}" for line in lines)


# -- cases --


def diagnostics_of(outcome: CaseOutcome) -> list[tuple[str, Diagnostic]]:
    """Why a case did not pass, each with what it is that did not: the operation, or assertions."""
    judgement = outcome.judgement
    if judgement is None:
        return []
    if judgement.operation is not None:
        return [(type_of(type(outcome.case.operation)), judgement.operation)]
    return [
        (type_of(type(verdict.assertion)), verdict.diagnostic)
        for verdict in judgement.verdicts
        if verdict.status is Status.FAILED and verdict.diagnostic is not None
    ]


def headline(outcome: CaseOutcome) -> str:
    """Why a case did not pass, in one line."""
    found = diagnostics_of(outcome)
    if not found:
        return STATUS_WORDS[outcome.status]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return safe(found[0][1].message) + more


def details_of(outcome: CaseOutcome) -> Iterator[Line]:
    """All there is to say of a case beside how it ended. Nothing is said twice."""
    said: set[str] = set()
    found = diagnostics_of(outcome)
    for name, diagnostic in found:
        lines = [*_facts(diagnostic), *_hint(diagnostic.hint)]
        yield Line(f"{name}  {safe(diagnostic.message)}")
        yield from (line for line in lines if line.text not in said)
        said.update(line.text for line in lines if line.kind == "hint" or _is_list(diagnostic))
    yield from (Line(f"note: {safe(note)}") for note in outcome.notes)


def _is_list(diagnostic: Diagnostic) -> bool:
    return diagnostic.code is DiagnosticCode.TOOL_NOT_FOUND


def _facts(diagnostic: Diagnostic) -> Iterator[Line]:
    for violation in diagnostic.violations:
        yield Line(violations.line(violations.safe(violation)), 1)
    if rest := diagnostic.total_violations - len(diagnostic.violations):
        yield Line(f"and {counted(rest, 'place')} more", 1)
    match diagnostic.code:
        case DiagnosticCode.TOOL_NOT_FOUND:
            yield Line(_tools(cast(list[str], diagnostic.actual)), 1)
        case DiagnosticCode.OPERATION_FAILED if isinstance(diagnostic.actual, dict):
            yield from _error(diagnostic.actual)
        case DiagnosticCode.IS_ERROR_MISMATCH:
            for text in body_lines(diagnostic):
                yield Line(text, 1)


def _error(error: Object) -> Iterator[Line]:
    for text in _said(error.get("message", "")):
        yield Line(text, 1)
    if "data" in error:
        for text in _said(error["data"]):
            yield Line(f"data: {text}", 1)


def body_lines(diagnostic: Diagnostic) -> list[str]:
    """What the server said in the body, if the diagnostic holds one."""
    return _said(diagnostic.body) if diagnostic.body is not None else []


def _said(value: object) -> list[str]:
    """The beginning of what a server said: a text line by line, anything else as JSON."""
    value = masked_beginning(value)
    text = value if isinstance(value, str) else excerpt(value, _LONGEST_BODY)
    lines = visible_lines(cut(text, _LONGEST_BODY))
    if len(lines) > _MOST_BODY_LINES:
        lines[_MOST_BODY_LINES:] = [f"... ({counted(len(lines) - _MOST_BODY_LINES, 'line')} more)"]
    return lines


def _tools(names: list[str]) -> str:
    if not names:
        return "the server has no tools"
    more = f" and {len(names) - _MOST_TOOLS} more" if len(names) > _MOST_TOOLS else ""
    return f"it has {', '.join(safe(shown(name)) for name in names[:_MOST_TOOLS])}{more}"


def _hint(hint: str) -> Iterator[Line]:
    if hint:
        yield Line(f"hint: {safe(hint)}", 1, "hint")


def known_defects(approval: Approval | None, state: ApprovalState) -> frozenset[str]:
    """The ids of the cases that failed already when this very suite was approved."""
    if approval is None or approval.cases is None or state is not ApprovalState.MATCHED:
        return frozenset()
    return frozenset(case.id for case in approval.cases if case.status == "serverDefect")


def difference_lines(found: Sequence[Difference]) -> Iterator[Line]:
    """The cases that were answered differently when the suite was run again."""
    for difference in found:
        yield Line(f"{safe(difference.case_id)}  was answered differently the second time")
        yield from (Line(safe(path), 1) for path in difference.paths)
        if rest := difference.total - len(difference.paths):
            yield Line(f"and {counted(rest, 'place')} more", 1)


# -- the suite --


def stop_lines(stop: StopReason) -> Iterator[Line]:
    yield Line(f"stopped: {safe(stop.message)}")
    yield from _hint(stop.hint)


def approval_lines(outcome: SuiteOutcome) -> Iterator[Line]:
    """What there is to say of the approval: nothing, unless the suite is another by now."""
    approval = outcome.suite.approval
    if approval is None or outcome.approval is not ApprovalState.MISMATCHED:
        return
    yield Line("approval: the suite was changed after it was approved")
    yield Line(f"approved {approval.fingerprint}", 1)
    yield Line(f"now      {outcome.fingerprint}", 1)
    yield Line("hint: see what was changed, and approve the suite anew", 1, "hint")


def end_lines(end: ServerEnd, most: int = STDERR_LINES) -> Iterator[Line]:
    """How a server ended and the last lines that it wrote to stderr."""
    known = [f"exit code {end.exit_code}"] if end.exit_code is not None else []
    known += [f"signal {safe(end.signal)}"] if end.signal else []
    yield Line(f"server: {safe(end.detail)}" + (f" ({', '.join(known)})" if known else ""))
    lines = stderr_lines(end)
    if not lines or not most:
        return
    above = len(lines) - most
    cut_off = f", {above} more above" if above > 0 else ""
    yield Line(
        f"the end of its stderr{cut_off}:" if cut_off or end.stderr_cut else "its stderr:", 1
    )
    yield from (Line(text, 2) for text in lines[-most:])


def stderr_lines(end: ServerEnd) -> list[str]:
    """The lines of stderr. Of a line without its beginning nobody knows what was in it."""
    text = redact(end.stderr)
    if end.stderr_cut:
        text = text.partition("\n")[2]
    return [cut(line, _LONGEST_LINE) for line in visible_lines(text) if line]


def issue_line(source: str, issue: Issue) -> str:
    """An issue as compilers tell one: ``file:line:column: code path: message``."""
    place = f":{issue.line}:{issue.column}" if issue.line is not None else ""
    return f"{safe(source)}{place}: {issue.code} {safe(issue.path)}: {safe(issue.message)}"


def issue_lines(refused: Refused) -> Iterator[Line]:
    """All that is wrong with a file."""
    for issue in refused.unusable.issues:
        yield Line(issue_line(refused.source, issue))
        yield from _hint(issue.hint)


def summary(outcome: SuiteOutcome) -> str:
    """``2 passed, 1 failed``"""
    counts = outcome.counts
    told = [f"{counts[status]} {STATUS_WORDS[status]}" for status in CaseStatus if counts[status]]
    return ", ".join(told) or "no cases"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    milliseconds = round(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"
