"""Starts the stub server, and makes suites and plans for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relay.suite.eras import EraChoice
from relay.suite.events import Event
from relay.suite.outcome import SuiteOutcome
from relay.suite.runner import Plan, Record, run
from relay.suite.targets.child import Command, Patience
from relay.suite.targets.interface import Target
from relay.suite.targets.stdio import StdioTarget
from tests.relay.suite.examples import Document, call, loaded, suite

STUB = Path(__file__).with_name("stub_server.py")
PATIENT = Patience(eof=20.0, terminate=20.0, kill=20.0, pipes=5.0)
"""Longer than a loaded machine takes; a test that waits so long has failed."""

AT_ONCE = Patience(eof=0.0)
"""For a server that does not end by itself."""

CONNECT_SECONDS = 30.0


def command(
    mode: str = "normal", environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Command:
    argv = (sys.executable, "-I", "-S", str(STUB), mode)
    return Command(argv, environ or {}, cwd)


def stub(
    mode: str = "normal", choice: EraChoice = EraChoice.LEGACY, patience: Patience = PATIENT
) -> StdioTarget:
    return StdioTarget(command(mode), choice, patience)


def calls(tool: str, case_id: str = "", timeout_ms: int = 30_000, **given: object) -> Document:
    """A case that calls a tool of the stub and expects no error."""
    operation = {"type": "callTool", "tool": tool, "input": given}
    return call(
        {"type": "isError", "expected": False},
        id=case_id or tool,
        operation=operation,
        timeoutMs=timeout_ms,
    )


def plan(*cases: Document, **options: Any) -> Plan:
    found = loaded(suite(*cases))
    return Plan(
        found, "suite.json", found.suite.cases, **{"connect_seconds": CONNECT_SECONDS} | options
    )


class Told(list[Event]):
    """What a run told."""

    def of(self, kind: type) -> list[Any]:
        return [event for event in self if isinstance(event, kind)]


async def ran(
    plan: Plan, target: Target | None = None, record: Record | None = None
) -> tuple[SuiteOutcome, Told]:
    told = Told()
    outcome = await run(plan, target or stub(), told.append, record)
    return outcome, told
