"""The conformance suite of MCP as a child process: what it can run, and what a run of it found."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from tests_integration.harness import process
from tests_integration.harness.environments import environment

VERSIONS: Mapping[str, str] = {"0.1.16": "conformance-0.1", "0.2.0-alpha.12": "conformance-0.2"}
"""The releases of the suite, and the name that each is installed by."""

LIST_SECONDS = 60.0

TROUBLE = ("FAILURE", "WARNING")

EXCUSED = "EXCUSED"
"""The status of ours for a warning that we know not to be of the judged side."""

OF_EVERY_SCENARIO = "wire-schema-"
"""Checks whose success says nothing of what a scenario is about."""

Role = Literal["server", "client"]
"""Which side of the wire is judged."""


@dataclass(frozen=True)
class Check:
    """One thing that a scenario looked at."""

    name: str
    status: str
    message: str

    def __str__(self) -> str:
        return f"{self.status} {self.name}: {self.message}"


@dataclass(frozen=True)
class Result:
    """What one run of one scenario found."""

    scenario: str
    version: str
    """The release of the suite."""
    leg: str
    passed: int
    failed: int
    warnings: int
    messages: tuple[str, ...]
    """The checks that found fault."""
    code: int
    """How the suite ended: 0 if nothing was wrong by its own rules, which count warnings."""
    excused: int = 0
    """Warnings that are not counted here, but by the suite."""

    @classmethod
    def of(cls, scenario: str, version: str, leg: str, checks: Sequence[Check], code: int) -> Self:
        """What the checks of a run come to."""
        passed, failed, warnings = (
            count(checks, status) for status in ("SUCCESS", "FAILURE", "WARNING")
        )
        trouble = tuple(str(check) for check in checks if check.status in TROUBLE)
        excused = count(checks, EXCUSED)
        return cls(scenario, version, leg, passed, failed, warnings, trouble, code, excused)

    @property
    def is_pass(self) -> bool:
        """A run that checked nothing, or skipped all it had to check, is no pass."""
        ended_well = self.code == 0 or self.excused > 0
        return ended_well and self.passed > 0 and not self.failed and not self.warnings

    def __str__(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.warnings} warnings"
        head = f"{self.scenario} ({self.version}, {self.leg}): exit code {self.code}, {counts}"
        return "\n".join([head, *self.messages])


class Suite:
    """One release of the suite, in the Node environment."""

    def __init__(self, version: str) -> None:
        node = environment("node")
        self._command = (node.node, node.module(f"{VERSIONS[version]}/dist/index.js"))

    def scenarios(self, role: Role) -> dict[str, list[str]]:
        """Each scenario of a role, and the revisions of the protocol that it is for."""
        listed = subprocess.run(
            (*self._command, "list"),
            check=True,
            capture_output=True,
            text=True,
            timeout=LIST_SECONDS,
        ).stdout
        return read_list(listed, role)

    def run(self, *arguments: str, folder: Path, seconds: float) -> int:
        """Run the suite; its exit code. What it found and what it printed go to ``folder``.

        Errors: ``subprocess.TimeoutExpired``.
        """
        # To a file, not to a pipe: a pipe stays open as long as any process holds it.
        with printed_in(folder).open("wb") as printed:
            return subprocess.run(
                (*self._command, *arguments, "-o", str(folder)),
                cwd=process.ROOT,
                env=process.environment(),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            ).returncode


def read_list(listed: str, role: Role) -> dict[str, list[str]]:
    """One section of what ``list`` prints: ``  - name [revision,revision]``, one a line."""
    section = re.search(rf"^{role} scenarios.*?:$(.*?)(?:^\w|\Z)", listed, re.M | re.S | re.I)
    assert section, listed
    found = re.findall(r"^\s+- (\S+) \[(.*)\]$", section[1], re.M)
    return {name: revisions.split(",") for name, revisions in found}


def printed_in(folder: Path) -> Path:
    """Where a run leaves what the suite prints."""
    return folder / "suite.txt"


def checks_of(folder: Path) -> Iterator[tuple[str, list[Check]]]:
    """Each run that is kept under ``folder``: the name of its own folder, and its checks."""
    for file in sorted(folder.glob("**/checks.json")):
        checks = [as_check(entry) for entry in json.loads(file.read_text("utf-8"))]
        yield str(file.parent.relative_to(folder)), checks


def as_check(entry: Mapping[str, Any]) -> Check:
    """A check as ``checks.json`` has it; one that found fault tells what it saw."""
    told = entry.get("errorMessage") or entry.get("description", "")
    if entry["status"] in TROUBLE and entry.get("details"):
        told = f"{told} {json.dumps(entry['details'])[:500]}"
    return Check(entry["id"], entry["status"], told)


def excuse(checks: Sequence[Check], names: Collection[str]) -> list[Check]:
    """The checks of a run, a warning of one of these excused; a failure never is."""
    return [
        replace(check, status=EXCUSED)
        if check.status == "WARNING" and check.name in names
        else check
        for check in checks
    ]


def count(checks: Sequence[Check], status: str) -> int:
    """How many checks of the scenario itself came to a status."""
    return sum(
        check.status == status
        for check in checks
        if status in TROUBLE or not check.name.startswith(OF_EVERY_SCENARIO)
    )
