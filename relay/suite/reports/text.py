"""A run as it goes on, for a person: a line for each case, and why when it did not pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from relay.suite.events import (
    CaseEnded,
    CaseStarted,
    Event,
    Noise,
    ServerLost,
    ServerReady,
    SuiteStarted,
)
from relay.suite.outcome import CaseOutcome, CaseStatus, ServerEnd, ServerInfo, SuiteOutcome
from relay.suite.reports.columns import fitted, padded, width
from relay.suite.reports.details import (
    STDERR_LINES,
    Line,
    Refused,
    approval_lines,
    details_of,
    duration,
    end_lines,
    headline,
    issue_lines,
    known_defects,
    safe,
    stop_lines,
    summary,
)
from relay.suite.reports.masking import cut
from relay.suite.reports.style import Colour, Style
from relay.suite.wording import counted

_WIDEST_ID = 40
_WIDEST_DURATION = 8
_LONGEST_NOISE = 200
_CLEAR_LINE = "\r\x1b[2K"  # ECMA-48, 8.3.41 (EL)
_KNOWN_DEFECT = Line("note: it failed already when the suite was approved (serverDefect)")


class TextReport:
    """Writes what it is told to a stream. Nothing is kept of the cases that have ended."""

    def __init__(self, stream: TextIO, style: Style, stderr_lines: int = STDERR_LINES) -> None:
        self._stream = stream
        self._style = style
        self._stderr_lines = stderr_lines
        self._id_width = 0
        self._known: frozenset[str] = frozenset()
        self._ends: list[ServerEnd] = []
        self._is_live = False

    def tell(self, event: Event) -> None:
        """Write an event."""
        match event:
            case SuiteStarted(loaded, source):
                suite = loaded.suite
                self._ends = []
                self._known = known_defects(suite.approval, loaded.approval)
                self._id_width = _id_width(case.id for case in suite.cases)
                name = self._style.painted(safe(suite.name), Colour.BOLD)
                self._write(f"{name}  ({counted(len(suite.cases), 'case')}, {safe(source)})", "")
            case ServerReady(info):
                self._write(self._style.painted(_introduced(info), Colour.DIM))
            case CaseStarted(case, number, total):
                self._show(f"  {number}/{total}  {safe(case.id)}  {safe(case.name)}")
            case CaseEnded(outcome):
                self._case(outcome)
            case Noise(line):
                self._write(f"  stdout, no message: {cut(safe(line), _LONGEST_NOISE)}")
            case ServerLost(end):
                self._ends.append(end)
                self._lines(end_lines(end, self._stderr_lines))
            case _:
                self._ended(event.outcome)
        self._stream.flush()

    def refused(self, refused: Refused) -> None:
        """Write what is wrong with a file that is no suite."""
        self._lines(issue_lines(refused))

    def _case(self, outcome: CaseOutcome) -> None:
        if outcome.status is CaseStatus.NOT_RUN:
            return  # as many as there are: they are counted, and the reason is told once
        took = duration(outcome.seconds).rjust(_WIDEST_DURATION)
        self._write(f"{self._title(outcome)}  {took}  {safe(outcome.case.name)}")
        self._lines(details_of(outcome), 2)
        if outcome.status is CaseStatus.FAILED and outcome.case.id in self._known:
            self._lines([_KNOWN_DEFECT], 2)

    def _title(self, outcome: CaseOutcome) -> str:
        case_id = padded(safe(outcome.case.id), self._id_width)
        return f"{self._style.mark(outcome.status)} {case_id}"

    def _ended(self, outcome: SuiteOutcome) -> None:
        for end in outcome.ends:
            if end not in self._ends:
                self._lines(end_lines(end, self._stderr_lines))
        failed = [case for case in outcome.cases if case.status not in _UNREMARKABLE]
        if failed:
            self._write("", "Not passed:")
        for case in failed:
            self._write(f"{self._title(case)}  {headline(case)}")
        self._write("")
        if outcome.stop is not None:
            self._lines(stop_lines(outcome.stop))
        self._lines(approval_lines(outcome))
        count = counted(len(outcome.cases), "case")
        self._write(f"{summary(outcome)}  ({count} in {duration(outcome.seconds)})", "")

    # -- the stream --

    def _lines(self, lines: Iterable[Line], depth: int = 0) -> None:
        for line in lines:
            text = self._style.painted(line.text, Colour.DIM) if line.kind == "hint" else line.text
            self._write(f"{'  ' * (line.depth + depth)}{text}")

    def _write(self, *lines: str) -> None:
        if self._is_live:
            self._stream.write(_CLEAR_LINE)
            self._is_live = False
        self._stream.writelines(f"{line}\n" for line in lines)

    def _show(self, text: str) -> None:
        """A line that the next one takes the place of."""
        if not self._style.live:
            return
        line = fitted(text, self._style.width - 1)  # a full line would wrap, and stay
        self._stream.write(f"{_CLEAR_LINE}{self._style.painted(line, Colour.DIM)}")
        self._is_live = True


_UNREMARKABLE = (CaseStatus.PASSED, CaseStatus.NOT_RUN)


def _id_width(ids: Iterable[str]) -> int:
    widths = (width(safe(case_id)) for case_id in ids)
    return max((wide for wide in widths if wide <= _WIDEST_ID), default=0)


def _introduced(info: ServerInfo) -> str:
    return f"server: {safe(info.name)} {safe(info.version)}, MCP {safe(info.revision)}, {info.era}"
