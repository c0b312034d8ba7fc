"""Runs a suite: case by case, in the order of its file, and whatever the server does to the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from msgspec import Struct

from relay.suite.bounds import bounded
from relay.suite.channel import Lost, NotOpened, SessionError, TimedOut
from relay.suite.events import (
    CaseEnded,
    CaseStarted,
    Noise,
    ServerLost,
    ServerReady,
    SuiteEnded,
    SuiteStarted,
    Tell,
)
from relay.suite.judge import judge, unavailable
from relay.suite.judgement import Answer, Diagnostic, DiagnosticCode
from relay.suite.load import Loaded
from relay.suite.operations import perform
from relay.suite.outcome import (
    CaseOutcome,
    CaseStatus,
    ServerEnd,
    ServerInfo,
    StopReason,
    SuiteOutcome,
)
from relay.suite.suite import Case
from relay.suite.targets.interface import Session, Target
from relay.suite.wording import counted

Record = Callable[[str, Answer], None]
"""Is given each answer as it came, with the id of its case."""

_MOST_ENDS = 20  # of servers, whose stderr is kept
_MOST_NOTES = 10  # for one case


class Plan(Struct, frozen=True):
    """What to run, and how. ``cases`` are those of the suite that are to be run, in its order."""

    loaded: Loaded
    source: str
    cases: tuple[Case, ...]
    isolate: bool = False
    fail_fast: bool = False
    connect_seconds: float = 10.0


async def run(plan: Plan, target: Target, tell: Tell, record: Record | None = None) -> SuiteOutcome:
    """Run the cases of a plan; the outcome is complete, whatever stopped the run.

    A cancellation is one of those: it ends the session, and the outcome says so. With ``isolate``
    each case has a session of its own, otherwise they share one. A session that is lost costs the
    case that lost it; the next one has another. With ``record`` the answers can be kept.
    """
    return await _Run(plan, target, tell, record).run()


class _Run:
    def __init__(self, plan: Plan, target: Target, tell: Tell, record: Record | None) -> None:
        self._plan = plan
        self._target = target
        self._tell = tell
        self._record = record
        self._session: Session | None = None
        self._server: ServerInfo | None = None
        self._ended: list[CaseOutcome] = []
        self._ends: list[ServerEnd] = []
        self._stop: StopReason | None = None
        self._failed = False
        self._witness = _Witness(tell)

    async def run(self) -> SuiteOutcome:
        plan, loaded = self._plan, self._plan.loaded
        started, clock = time.time(), time.perf_counter()
        self._tell(SuiteStarted(loaded, plan.source))
        try:
            await self._cases()
            await self._close()
        except asyncio.CancelledError:
            await self._interrupted()
        for case in plan.cases[len(self._ended) :]:
            self._end(CaseOutcome(case, CaseStatus.NOT_RUN))
        outcome = SuiteOutcome(
            loaded.suite,
            plan.source,
            loaded.fingerprint,
            loaded.approval,
            tuple(self._ended),
            time.perf_counter() - clock,
            started,
            self._stop,
            self._server,
            tuple(self._ends),
        )
        self._tell(SuiteEnded(outcome))
        return outcome

    async def _cases(self) -> None:
        for number, case in enumerate(self._plan.cases, 1):
            try:
                session = await self._ready()
            except NotOpened as error:
                self._not_opened(error, case)
                return
            self._tell(CaseStarted(case, number, len(self._plan.cases)))
            outcome = await self._case(session, case)
            self._end(outcome)
            if session.lost is not None:
                await self._lose(session.lost, case)
            elif self._plan.isolate:
                await self._close()
            if self._plan.fail_fast and self._failed and number < len(self._plan.cases):
                self._stop = StopReason(
                    "failFast",
                    f"stopped at the first case that did not pass: {case.id}",
                    "run without --fail-fast to see the others",
                    case.id,
                )
                return

    async def _case(self, session: Session, case: Case) -> CaseOutcome:
        milliseconds = self._plan.loaded.suite.timeout_ms(case)
        clock = time.perf_counter()
        status = CaseStatus.CANCELLED
        judgement = None
        try:
            answer = await perform(session, case.operation, milliseconds / 1000)
            if self._record is not None:
                self._record(case.id, answer)
            judgement = judge(case.operation, case.assertions, answer)
            status = CaseStatus.PASSED if judgement.passed else CaseStatus.FAILED
        except SessionError as error:
            status = CaseStatus.TIMED_OUT if isinstance(error, TimedOut) else CaseStatus.FAILED
            judgement = unavailable(case.assertions, _diagnostic(error, milliseconds))
        except asyncio.CancelledError:
            self._end(CaseOutcome(case, status, None, time.perf_counter() - clock))
            raise
        seconds = time.perf_counter() - clock
        return CaseOutcome(case, status, bounded(judgement), seconds, self._witness.notes())

    # -- the session --

    async def _ready(self) -> Session:
        """The session for the next case: the one that is open, or another one."""
        if self._session is None:
            opened = await self._target.open(self._plan.connect_seconds, self._witness)
            self._session = opened
            self._server = self._server or opened.info
            if self._ended and not self._plan.isolate:
                self._witness.note("the server was started anew before this case")
            self._tell(ServerReady(opened.info))
        return self._session

    def _not_opened(self, error: NotOpened, case: Case) -> None:
        again = " again" if self._ended else ""
        self._stop = StopReason(
            "connectionFailed",
            f"the server cannot be reached{again}: {error}",
            error.hint,
            case.id if self._ended else None,
        )
        if error.end is not None:
            self._tell(ServerLost(error.end))
            self._keep(error.end)

    async def _lose(self, end: ServerEnd, case: Case) -> None:
        self._tell(ServerLost(end, case.id))
        self._keep(end)
        await self._close()

    async def _close(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        lost = session.lost is not None
        end = await session.close()
        if end is not None and not lost and (end.abnormal or (self._failed and end.telling)):
            self._keep(end)

    async def _interrupted(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        self._stop = StopReason(
            "interrupted",
            "the run was interrupted",
            "run the suite again for the cases that were not run",
            self._ended[-1].case.id if self._ended else None,
        )
        try:
            await self._close()
        except asyncio.CancelledError:
            task.uncancel()  # asked again: the channel has let go of what it could not end

    # -- what is told and kept --

    def _keep(self, end: ServerEnd) -> None:
        if len(self._ends) < _MOST_ENDS:
            self._ends.append(end)

    def _end(self, outcome: CaseOutcome) -> None:
        self._ended.append(outcome)
        self._failed |= outcome.status is not CaseStatus.PASSED
        self._tell(CaseEnded(outcome, len(self._ended), len(self._plan.cases)))


class _Witness:
    """Passes noise on, and keeps the notes for the case that is being run."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._notes: list[str] = []
        self._noise = 0

    def noise(self, line: str) -> None:
        self._noise += 1
        if self._noise <= _MOST_NOTES:
            self._tell(Noise(line))

    def note(self, text: str) -> None:
        if len(self._notes) < _MOST_NOTES:
            self._notes.append(text)

    def notes(self) -> tuple[str, ...]:
        """What there is to say of the case; the next one begins with nothing."""
        notes, self._notes = self._notes, []
        noise, self._noise = self._noise, 0
        if noise:
            notes.append(
                f"the server wrote {counted(noise, 'line')} to stdout that are no messages:"
                " send what is for people to stderr"
            )
        return tuple(notes)


def _diagnostic(error: SessionError, milliseconds: int) -> Diagnostic:
    message = str(error)
    if isinstance(error, TimedOut):
        message = f"there was no answer within {milliseconds} ms"
    elif isinstance(error, Lost):
        message = f"the session was lost before the answer: {error}"
    return Diagnostic(DiagnosticCode.OPERATION_FAILED, message, error.hint)
