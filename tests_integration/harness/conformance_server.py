"""The conformance suite against a server: one run for all scenarios, and what came of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests_integration.harness.conformance import TROUBLE, Check, Suite, checks_of, count

_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True)
class Outcome:
    """What the checks of one scenario found. A warning is a shortcoming as a failure is."""

    scenario: str
    successes: int
    shortcomings: Mapping[str, str]
    """The checks that were not met, with what the suite says about them."""

    @property
    def is_pass(self) -> bool:
        """A scenario without any check that succeeded shows nothing."""
        return self.successes > 0 and not self.shortcomings

    def __str__(self) -> str:
        said = [f"  {check}: {message}" for check, message in self.shortcomings.items()]
        return "\n".join([f"{self.scenario}: {self.successes} check(s) succeeded", *said])


def judge(
    release: str, arguments: Sequence[str], url: str, folder: Path, seconds: float
) -> dict[str, Outcome]:
    """Run a release of the suite against a server; the outcomes by scenario.

    Its exit code is about scores, and of no concern here. ``folder`` takes its records.
    """
    Suite(release).run("server", "--url", url, *arguments, folder=folder, seconds=seconds)
    return read_outcomes(folder)


def read_outcomes(folder: Path) -> dict[str, Outcome]:
    """The outcomes that the suite has recorded in a folder, by scenario."""
    outcomes = {}
    for name, checks in checks_of(folder):
        match = _FOLDER.fullmatch(name)
        assert match, name
        outcomes[match["scenario"]] = _outcome(match["scenario"], checks)
    return outcomes


def _outcome(scenario: str, checks: Sequence[Check]) -> Outcome:
    return Outcome(
        scenario,
        count(checks, "SUCCESS"),
        {check.name: check.message for check in checks if check.status in TROUBLE},
    )
