"""What the conformance suite is to find, as tables: scenarios against the runs that have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from scripts.markdown import table
from tests_integration.conformance import client_table, server_table

PASS, FAIL, LEFT_OUT = "✓", "✗", "○"
FEW = 6
"""How many scenarios a line names that the table has as well."""

SERVERS = {
    "fixture": (
        "The HTTP application and the MCP server of the service, with the tools, resources and "
        "prompts that the suite calls:"
    ),
    "service": "`canferry-service serve` as it is:",
}


class Group(Protocol):
    """Scenarios with a reason in common."""

    @property
    def reason(self) -> str: ...
    @property
    def scenarios(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Run:
    """One column of a table: what each scenario comes to, and why if that is no plain pass."""

    title: str
    results: Mapping[str, str]
    reasons: Sequence[tuple[str, Group]]


def run(title: str, passes: Iterable[str], reasons: Sequence[tuple[str, Group]]) -> Run:
    results = dict.fromkeys(passes, PASS)
    for mark, group in reasons:
        results |= dict.fromkeys(group.scenarios, mark)
    return Run(title, results, reasons)


def runs_table(runs: Sequence[Run]) -> Iterator[str]:
    """The runs side by side; below them the reasons, and how many results there are of each."""
    rows = sorted(judged(runs), key=lambda name: ("/" in name, name))
    cells = [[f"`{name}`", *(each.results.get(name, "") for each in runs)] for name in rows]
    yield from table(["scenario", *(each.title for each in runs)], cells)
    yield ""
    for (mark, reason), names in reasons_of(runs).items():
        yield f"* {mark} {reason} {listed(names, rows)}"
    results = [result for each in runs for result in each.results.values()]
    counted = [f"{results.count(PASS)} pass", f"{results.count(FAIL)} fail as expected"]
    yield f"* In all: {', '.join(counted)}, {results.count(LEFT_OUT)} are not judged."
    yield ""


def judged(runs: Sequence[Run]) -> set[str]:
    """Scenarios of which at least one run says something."""
    return {name for each in runs for name, mark in each.results.items() if mark != LEFT_OUT}


def reasons_of(runs: Sequence[Run]) -> Mapping[tuple[str, str], set[str]]:
    """The scenarios that each reason is given for, in whichever run."""
    concerned: dict[tuple[str, str], set[str]] = {}
    for each in runs:
        for mark, group in each.reasons:
            concerned.setdefault((mark, group.reason), set()).update(group.scenarios)
    return concerned


def listed(names: set[str], rows: Sequence[str]) -> str:
    """Names in brackets, but for many that the table has anyway."""
    if len(names) > FEW and names <= set(rows):
        return f"({len(names)} scenarios)"
    return "(" + ", ".join(f"`{name}`" for name in sorted(names)) + ")"


def client_tables() -> Iterator[str]:
    """The relay: the suite is the server behind it."""
    legs = client_table.read_table().leg
    for release in dict.fromkeys(leg.release for leg in legs):
        yield from (f"Release {release}, revisions of the client and of the server:", "")
        yield from runs_table([client_run(leg) for leg in legs if leg.release == release])


def client_run(leg: client_table.Leg) -> Run:
    marked = [(PASS, leg.refuses), (FAIL, leg.fails), (LEFT_OUT, leg.left_out)]
    reasons = [(mark, group) for mark, groups in marked for group in groups]
    return run(f"{leg.client} → {leg.revision}", leg.passes, reasons)


def server_tables() -> Iterator[str]:
    """The service: the suite is its client."""
    legs = server_table.read_table().leg
    for server, introduction in SERVERS.items():
        yield from (introduction, "")
        yield from runs_table([server_run(leg) for leg in legs if leg.server == server])


def server_run(leg: server_table.Leg) -> Run:
    marked = [(FAIL, leg.fails), (LEFT_OUT, leg.left_out)]
    reasons = [(mark, group) for mark, groups in marked for group in groups]
    return run(f"{leg.revision}, {leg.release}", leg.passes, reasons)
