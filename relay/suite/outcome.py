"""How a suite ended: the data that every report is made of."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from functools import cached_property
from typing import Literal

from msgspec import Struct

from relay.suite.judgement import Judgement
from relay.suite.load import ApprovalState
from relay.suite.suite import Case, Suite


class CaseStatus(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timedOut"
    CANCELLED = "cancelled"
    NOT_RUN = "notRun"


class SuiteStatus(StrEnum):
    """How a suite ended as a whole. What was aborted could not be run to its end."""

    PASSED = "passed"
    FAILED = "failed"
    ABORTED = "aborted"


class CaseOutcome(Struct, frozen=True):
    """How one case ended.

    There is a judgement unless the case was cancelled or not run. ``notes`` are sentences about
    what the server did meanwhile.
    """

    case: Case
    status: CaseStatus
    judgement: Judgement | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


class ServerInfo(Struct, frozen=True):
    """What a server said of itself when it was connected to."""

    name: str
    version: str
    revision: str
    era: Literal["legacy", "modern"]


class ServerEnd(Struct, frozen=True):
    """What a server left behind that ended by itself, or that had to be ended.

    A server that is no child process has neither ``exit_code`` nor ``signal``; ``detail`` says
    what happened to the connection. ``stderr`` is the end of what was written there, ``noise``
    the last lines on stdout that are no messages.
    """

    detail: str
    exit_code: int | None = None
    signal: str | None = None
    stderr: str = ""
    stderr_cut: bool = False
    noise: tuple[str, ...] = ()

    @property
    def abnormal(self) -> bool:
        """Whether the server ended as none should."""
        return self.signal is not None or self.exit_code not in (None, 0)

    @property
    def telling(self) -> bool:
        """Whether it wrote anything that may explain why a case failed."""
        return bool(self.stderr.strip() or self.noise)


class StopReason(Struct, frozen=True):
    """Why a suite was not run to its end."""

    kind: Literal["interrupted", "failFast", "connectionFailed"]
    message: str
    hint: str
    case_id: str | None = None


class SuiteOutcome(Struct, frozen=True, dict=True):
    """How a suite ended. ``started`` is in seconds since the epoch."""

    suite: Suite
    source: str
    fingerprint: str
    approval: ApprovalState
    cases: tuple[CaseOutcome, ...]
    seconds: float
    started: float
    stop: StopReason | None = None
    server: ServerInfo | None = None
    ends: tuple[ServerEnd, ...] = ()

    @cached_property
    def counts(self) -> dict[CaseStatus, int]:
        """How many cases ended in which way; every way is named."""
        found = Counter(case.status for case in self.cases)
        return {status: found[status] for status in CaseStatus}

    @property
    def status(self) -> SuiteStatus:
        """The verdict on the whole."""
        if self.stop is not None and self.stop.kind != "failFast":
            return SuiteStatus.ABORTED
        passed = self.counts[CaseStatus.PASSED] == len(self.cases)
        return SuiteStatus.PASSED if passed else SuiteStatus.FAILED
