"""A run goes through its cases in order and to its end, whatever the server does."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from itertools import count
from typing import Any

import pytest

from relay.suite.channel import Broken, Lost, Witness
from relay.suite.document import Object
from relay.suite.events import (
    CaseEnded,
    CaseStarted,
    Noise,
    ServerLost,
    ServerReady,
    SuiteEnded,
    SuiteStarted,
)
from relay.suite.judgement import Answer, RpcResult
from relay.suite.load import ApprovalState
from relay.suite.outcome import CaseOutcome, CaseStatus, ServerEnd, SuiteOutcome, SuiteStatus
from relay.suite.runner import Plan, run
from tests.relay.suite.examples import listing
from tests.relay.suite.fake_session import FINE, FakeSession, FakeTarget, fine, never
from tests.relay.suite.stub import AT_ONCE, Told, calls, plan, ran, stub

PASSED, FAILED, TIMED_OUT = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.TIMED_OUT
CANCELLED, NOT_RUN = CaseStatus.CANCELLED, CaseStatus.NOT_RUN

SOON = 300  # milliseconds in which no answer comes


def statuses(outcome: SuiteOutcome) -> list[CaseStatus]:
    return [case.status for case in outcome.cases]


def operation(case: CaseOutcome) -> str:
    """What is said of why there was no result."""
    assert case.judgement is not None
    assert case.judgement.operation is not None
    return case.judgement.operation.message


async def facts(*cases: Any, **options: Any) -> list[Any]:
    """What the ``facts`` tool of the stub tells, each time that it is called."""
    said: list[Any] = []

    def keep(case_id: str, answer: Answer) -> None:
        assert isinstance(answer, RpcResult)
        if "structuredContent" in answer.value:  # type: ignore[operator]
            said.append(answer.value["structuredContent"])  # type: ignore[index]

    await ran(plan(*cases, **options), stub(), keep)
    return said


# -- what is told --


async def test_a_run_tells_of_each_case_in_the_order_of_the_suite() -> None:
    outcome, told = await ran(plan(calls("ok", "a"), calls("error", "b"), calls("ok", "c")))
    assert statuses(outcome) == [PASSED, FAILED, PASSED]
    assert outcome.status is SuiteStatus.FAILED
    assert [type(event) for event in told] == [
        SuiteStarted,
        ServerReady,
        *[CaseStarted, CaseEnded] * 3,
        SuiteEnded,
    ]
    assert [(event.case.id, event.number, event.total) for event in told.of(CaseStarted)] == [
        ("a", 1, 3),
        ("b", 2, 3),
        ("c", 3, 3),
    ]
    assert [event.outcome for event in told.of(CaseEnded)] == list(outcome.cases)
    assert told[-1] == SuiteEnded(outcome)


async def test_an_outcome_says_what_was_run_and_on_what() -> None:
    wanted = plan(calls("ok"))
    outcome, _ = await ran(wanted)
    assert outcome.status is SuiteStatus.PASSED
    assert (outcome.source, outcome.fingerprint) == ("suite.json", wanted.loaded.fingerprint)
    assert outcome.approval is ApprovalState.ABSENT
    assert outcome.server is not None
    assert (outcome.server.name, outcome.server.era) == ("stub", "legacy")
    assert outcome.counts == {PASSED: 1, FAILED: 0, TIMED_OUT: 0, CANCELLED: 0, NOT_RUN: 0}
    assert 0 < outcome.cases[0].seconds <= outcome.seconds
    assert (outcome.ends, outcome.stop) == ((), None)


async def test_only_the_cases_of_the_plan_are_run() -> None:
    whole = plan(calls("ok", "a"), calls("ok", "b"))
    target = FakeTarget()
    outcome, _ = await ran(Plan(whole.loaded, whole.source, whole.cases[1:]), target)
    assert [case.case.id for case in outcome.cases] == ["b"]
    assert len(target.sessions[0].asked) == 1


async def test_nothing_is_sent_that_the_suite_does_not_say() -> None:
    [said] = await facts(calls("ok"), calls("facts"))
    assert said["methods"] == [
        "initialize",
        "notifications/initialized",
        "tools/call",
        "tools/call",
    ]


# -- one session, or one for each case --


async def test_cases_share_one_server() -> None:
    first, second = await facts(calls("facts", "a"), calls("facts", "b"))
    assert first["pid"] == second["pid"]


async def test_isolated_cases_have_a_server_each() -> None:
    first, second = await facts(calls("facts", "a"), calls("facts", "b"), isolate=True)
    assert first["pid"] != second["pid"]
    assert len(first["methods"]) == len(second["methods"])


# -- trouble --


async def test_a_case_that_times_out_is_cancelled_and_the_rest_go_on() -> None:
    answers: dict[str, Answer] = {}
    outcome, _ = await ran(
        plan(calls("hold", timeout_ms=SOON), calls("release"), calls("ok")),
        record=answers.__setitem__,
    )
    assert statuses(outcome) == [TIMED_OUT, PASSED, PASSED]
    assert operation(outcome.cases[0]) == f"there was no answer within {SOON} ms"
    released = answers["release"]
    assert isinstance(released, RpcResult)
    said = json.loads(released.value["content"][0]["text"])  # type: ignore[index]
    # The late answer was dropped, and the server had been told that nobody waits for it.
    assert said["cancelled"] == said["held"] != []


async def test_a_case_may_take_longer_than_a_minute() -> None:
    target = FakeTarget()
    await ran(plan(calls("ok", timeout_ms=75_000)), target)
    assert target.sessions[0].seconds == [75.0]


async def test_a_crash_is_told_once_and_the_server_is_started_anew() -> None:
    outcome, told = await ran(
        plan(calls("crash", stderr=3), calls("ok", "a"), calls("ok", "b")), stub()
    )
    assert statuses(outcome) == [FAILED, PASSED, PASSED]
    [lost] = told.of(ServerLost)
    assert lost.case_id == "crash"
    assert (lost.end.exit_code, lost.end.signal) == (7, None)
    assert lost.end.stderr == "xxxit broke here\n"
    assert outcome.ends == (lost.end,)
    assert "exited with code 7" in operation(outcome.cases[0])
    assert outcome.cases[1].notes == ("the server was started anew before this case",)
    assert outcome.cases[2].notes == ()
    assert len(told.of(ServerReady)) == 2
    assert outcome.stop is None


async def test_a_server_that_exits_with_zero_is_told_as_well() -> None:
    outcome, told = await ran(plan(calls("exit0"), calls("ok")))
    assert statuses(outcome) == [FAILED, PASSED]
    [lost] = told.of(ServerLost)
    assert (lost.end.detail, lost.end.exit_code) == ("the server exited with code 0", 0)


async def test_a_server_that_a_signal_has_ended_is_told_with_the_signal() -> None:
    outcome, told = await ran(plan(calls("kill")))
    [lost] = told.of(ServerLost)
    assert (lost.end.exit_code, lost.end.signal) == (None, "SIGTERM")
    assert statuses(outcome) == [FAILED]


async def test_a_server_that_ends_right_after_its_answer_costs_no_case() -> None:
    def respond(method: str, params: Object) -> Answer:
        if len(target.sessions) == 1:
            target.sessions[0].lost = ServerEnd("gone")
        return RpcResult(FINE)

    target = FakeTarget(respond)
    outcome, told = await ran(plan(calls("ok", "a"), calls("ok", "b")), target)
    assert statuses(outcome) == [PASSED, PASSED]
    assert [event.case_id for event in told.of(ServerLost)] == ["a"]
    assert [session.closed for session in target.sessions] == [True, True]


async def test_a_server_that_cannot_be_started_again_ends_the_suite() -> None:
    target = FakeTarget(lambda method, params: Lost(ServerEnd("gone")), most=2)
    cases = (calls("ok", case_id) for case_id in "abcd")
    outcome, _ = await ran(plan(*cases), target)
    assert statuses(outcome) == [FAILED, FAILED, NOT_RUN, NOT_RUN]
    assert outcome.status is SuiteStatus.ABORTED
    assert outcome.stop is not None
    assert (outcome.stop.kind, outcome.stop.case_id) == ("connectionFailed", "c")
    assert outcome.stop.message == "the server cannot be reached again: nobody there"


async def test_of_many_servers_that_ended_the_first_are_kept() -> None:
    target = FakeTarget(lambda method, params: Lost(ServerEnd("gone")))
    outcome, told = await ran(plan(*(calls("ok", f"c{number}") for number in range(50))), target)
    assert len(told.of(ServerLost)) == 50
    assert len(outcome.ends) == 20


async def test_a_server_that_cannot_be_reached_runs_nothing() -> None:
    outcome, told = await ran(plan(calls("ok", "a"), calls("ok", "b")), FakeTarget(most=0))
    assert statuses(outcome) == [NOT_RUN, NOT_RUN]
    assert outcome.status is SuiteStatus.ABORTED
    assert outcome.stop is not None
    assert (outcome.stop.kind, outcome.stop.hint) == ("connectionFailed", "start the server")
    assert outcome.stop.message == "the server cannot be reached: nobody there"
    assert told.of(CaseStarted) == []
    assert len(told.of(CaseEnded)) == 2


async def test_what_is_no_answer_fails_its_case_alone() -> None:
    answers = iter([Broken("nonsense", "mend it"), None])

    def respond(method: str, params: Object) -> Answer | Exception:
        return next(answers) or fine(method, params)

    outcome, _ = await ran(plan(calls("ok", "a"), calls("ok", "b")), FakeTarget(respond))
    assert statuses(outcome) == [FAILED, PASSED]
    assert operation(outcome.cases[0]) == "nonsense"


async def test_lines_that_are_no_messages_are_told_and_lose_no_case() -> None:
    outcome, told = await ran(plan(calls("noise", lines=12), calls("ok")), stub("noisy"))
    assert statuses(outcome) == [PASSED, PASSED]
    assert [event.line for event in told.of(Noise)][:2] == ["starting up", "noise 0 "]
    assert len(told.of(Noise)) == 10
    [note] = outcome.cases[0].notes
    assert note.startswith("the server wrote 13 lines to stdout")
    assert outcome.cases[1].notes == ()


async def test_what_a_server_does_beside_answering_is_noted_within_a_bound() -> None:
    outcome, _ = await ran(plan(calls("ask", methods=["roots/list"] * 30)))
    assert outcome.cases[0].notes == ("the server asked for roots/list in vain",) * 10


async def test_fail_fast_stops_at_the_first_case_that_does_not_pass() -> None:
    cases = [calls("ok", "a"), calls("error", "b"), calls("ok", "c")]
    outcome, _ = await ran(plan(*cases, fail_fast=True))
    assert statuses(outcome) == [PASSED, FAILED, NOT_RUN]
    assert outcome.status is SuiteStatus.FAILED
    assert outcome.stop is not None
    assert (outcome.stop.kind, outcome.stop.case_id) == ("failFast", "b")
    outcome, _ = await ran(plan(*cases[:2], fail_fast=True))
    assert outcome.stop is None


async def test_the_end_of_stderr_is_kept_where_a_case_failed() -> None:
    end = ServerEnd("ended", 0, stderr="it was the database")
    outcome, _ = await ran(plan(calls("ok")), FakeTarget(end=end))
    assert outcome.ends == ()
    broken = FakeTarget(lambda method, params: Broken("nonsense", ""), end=end)
    outcome, _ = await ran(plan(calls("ok")), broken)
    assert outcome.ends == (end,)
    abnormal = ServerEnd("ended", 1)
    outcome, _ = await ran(plan(calls("ok")), FakeTarget(end=abnormal))
    assert outcome.ends == (abnormal,)


# -- interruption --


async def test_an_interrupted_run_has_a_complete_outcome() -> None:
    told = Told()
    started = asyncio.Event()

    def tell(event: Any) -> None:
        told.append(event)
        if isinstance(event, CaseStarted) and event.case.id == "hang":
            started.set()

    wanted = plan(calls("ok"), calls("hang"), calls("ok", "c"))
    task = asyncio.ensure_future(run(wanted, stub(), tell))
    await asyncio.wait_for(started.wait(), 30)
    task.cancel()
    outcome = await asyncio.wait_for(task, 30)
    assert statuses(outcome) == [PASSED, CANCELLED, NOT_RUN]
    assert outcome.status is SuiteStatus.ABORTED
    assert outcome.stop is not None
    assert (outcome.stop.kind, outcome.stop.case_id) == ("interrupted", "hang")
    assert told[-1] == SuiteEnded(outcome)
    assert not task.cancelled()


async def test_a_second_interruption_does_not_wait_for_the_server_to_end() -> None:
    started, closing = asyncio.Event(), asyncio.Event()

    class Stubborn(FakeSession):
        async def request(self, method: str, params: Object, seconds: float) -> Answer:
            started.set()
            return await never()

        async def close(self) -> ServerEnd | None:
            closing.set()
            await never()
            return None

    class StubbornTarget(FakeTarget):
        async def open(self, seconds: float, witness: Witness) -> FakeSession:
            return Stubborn(fine, None)

    task = asyncio.ensure_future(run(plan(calls("ok")), StubbornTarget(), Told().append))
    await asyncio.wait_for(started.wait(), 30)
    task.cancel()
    await asyncio.wait_for(closing.wait(), 30)
    task.cancel()
    outcome = await asyncio.wait_for(task, 30)
    assert statuses(outcome) == [CANCELLED]


async def test_a_run_that_is_interrupted_while_it_connects_has_run_nothing() -> None:
    running = asyncio.Event()

    def tell(event: Any) -> None:
        if isinstance(event, Noise):
            running.set()

    target = stub("deaf", patience=AT_ONCE)
    task = asyncio.ensure_future(run(plan(calls("ok")), target, tell))
    await asyncio.wait_for(running.wait(), 30)
    task.cancel()
    outcome = await asyncio.wait_for(task, 30)
    assert statuses(outcome) == [NOT_RUN]
    assert outcome.stop is not None
    assert (outcome.stop.kind, outcome.stop.case_id) == ("interrupted", None)


# -- size --


@pytest.mark.timeout(240)
async def test_ten_thousand_failing_cases_with_large_answers_stay_small() -> None:
    many = plan(*(calls("ok", f"c{number}") for number in range(10_000)))
    numbers = count()

    def respond(method: str, params: Object) -> Answer:
        text = f"{next(numbers)}" + "x" * 50_000
        return RpcResult({"content": [{"type": "text", "text": text}], "isError": True})

    target = FakeTarget(respond)
    gc.collect()
    tracemalloc.start()
    try:
        outcome = await run(many, target, lambda event: None)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.counts[FAILED] == 10_000
    assert kept < 80 << 20  # half a gigabyte was answered


async def test_a_listing_is_one_case() -> None:
    outcome, _ = await ran(plan(listing("p1", "p3")), stub("paged"))
    assert statuses(outcome) == [PASSED]
