"""A server behind the relay's own process is judged as it is without the relay."""

from __future__ import annotations

import pytest

from relay.settings import Settings
from relay.suite.outcome import CaseStatus, SuiteOutcome
from relay.suite.targets.environment import child_environment
from relay.suite.targets.http import http_target
from relay.suite.targets.interface import Target
from relay.suite.targets.relayed import relayed
from relay.usage import UsageError
from tests.relay.peer import LEGACY, MODERN, McpServer, environment
from tests.relay.suite.examples import listing
from tests.relay.suite.stub import calls, plan, ran

CASES = (
    listing("echo", "nothing"),
    calls("echo", text="hello"),
    calls("slow", timeout_ms=700),
    calls("echo", "again", text="hello"),
)


async def judged(target: Target) -> tuple[SuiteOutcome, list[object]]:
    answers: dict[str, object] = {}
    outcome, _ = await ran(plan(*CASES), target, answers.__setitem__)
    return outcome, list(answers.values())


@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_suite_ends_the_same_through_the_relay(era: str) -> None:
    async with McpServer(era).running() as server:
        direct, said = await judged(http_target(Settings(url=server.url)))
        behind, heard = await judged(relayed(server.url, environment()))
    assert [case.status for case in direct.cases] == [
        *[CaseStatus.FAILED, CaseStatus.PASSED, CaseStatus.TIMED_OUT, CaseStatus.PASSED]
    ]
    assert heard == said
    assert [(case.status, case.judgement) for case in behind.cases] == [
        (case.status, case.judgement) for case in direct.cases
    ]
    assert direct.server is not None
    assert behind.server is not None
    assert behind.server.era == direct.server.era
    assert behind.ends == () or behind.ends[0].exit_code == 0


async def test_the_relay_gets_the_options_that_are_meant_for_it() -> None:
    async with McpServer().running() as server:
        options = ("-H", "X-Test: ${SECRET}")
        target = relayed(server.url, {**environment(), "SECRET": "s3"}, options)
        outcome, _ = await ran(plan(calls("echo", text="hello")), target)
        assert [case.status for case in outcome.cases] == [CaseStatus.PASSED]
        assert (await server.saw("tools/call")).headers["x-test"] == "s3"


def test_a_server_gets_what_every_program_needs_and_what_is_asked_for() -> None:
    environ = {"PATH": "/bin", "HOME": "/h", "TOKEN": "t", "OTHER": "o", "SYSTEMROOT": "w"}
    assert child_environment(environ, ["TOKEN"], windows=False) == {
        "HOME": "/h",
        "PATH": "/bin",
        "TOKEN": "t",
    }
    assert child_environment(environ, [], windows=True) == {"PATH": "/bin", "SYSTEMROOT": "w"}
    with pytest.raises(UsageError, match="NOWHERE"):
        child_environment(environ, ["NOWHERE"], windows=False)
