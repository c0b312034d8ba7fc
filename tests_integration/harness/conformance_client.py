"""The conformance suite against a client: one run for each scenario, and what came of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tests_integration.conformance.client_table import Expected
from tests_integration.harness.conformance import Result, Suite, checks_of, excuse, printed_in

CLIENT_SECONDS = 90.0
"""How long the suite waits for its client, which gives up before by itself."""

RUN_SECONDS = 150.0
"""How long one run may take; idle, most take less than one second."""

DRIVER = (sys.executable, "-m", "tests_integration.conformance.driver")


@dataclass(frozen=True)
class Run:
    """What the suite found of a client, and how the client itself saw it."""

    result: Result
    outcome: str
    """The word that the driver ended with."""
    said: str
    """What the driver wrote to stderr."""

    def __str__(self) -> str:
        return f"{self.result}\nthe client: {self.outcome or 'nothing'}\n{self.said}"


def run(expected: Expected, excused: Collection[str], folder: Path) -> Run:
    """Run one scenario of a leg; ``folder`` takes the suite's records.

    ``excused``: checks whose warnings do not count.

    Errors: ``subprocess.TimeoutExpired``.
    """
    leg, name = expected.leg, expected.scenario
    code = Suite(leg.release).run(
        "client",
        "--command",
        shlex.join([*DRIVER, leg.client]),
        "--scenario",
        name,
        "--timeout",
        str(int(CLIENT_SECONDS * 1000)),
        *leg.arguments,
        folder=folder,
        seconds=RUN_SECONDS,
    )
    recorded = dict(checks_of(folder))
    printed = printed_in(folder).read_text("utf-8", "replace")
    assert len(recorded) == 1, printed  # the suite ends well, too, where it has nothing to run
    place, checks = recorded.popitem()
    result = Result.of(name, leg.release, leg.name, excuse(checks, excused), code)
    said = (folder / place / "stderr.txt").read_text("utf-8")
    return Run(result, (folder / place / "stdout.txt").read_text("utf-8").strip(), said)
