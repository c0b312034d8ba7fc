"""The page that says what is pinned against which peer, and by which test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scripts.markdown import NOTICE, table
from scripts.suite_tables import client_tables, server_tables
from tests_integration.collected import collected
from tests_integration.manifest import PAIRINGS, Requirement, Section, manifest

SPECIFICATION = "https://modelcontextprotocol.io/specification"
FEW = 6
"""How many tests of one file are named one by one."""

INTRODUCTION = """\
The relay and the service are run, as processes and over loopback, against MCP clients and servers
that nobody here wrote. What they are held to is data,
[`requirements.toml`](../tests_integration/requirements.toml); every test bears the requirements
that it shows. `make check` fails when a requirement has no test on one of its peers, when a test
shows nothing, and when this page is stale.

## How to run it

* `make test` runs what our own environment holds: the newest MCP SDK and our service.
* `make integration` builds the other peers under `.peers` and runs all of it. It needs npm for the
  conformance suite and the server in TypeScript.
* `pytest -m smoke tests_integration` is the part that holds on every platform.

A cancelled call's latency and other figures are printed at the end of a run; none is asserted.
"""
SUITE = """\
`@modelcontextprotocol/conformance` plays the server for the relay and the client for the service.
The tables are what is expected: ✓ passes, ✗ fails, ○ is not judged, each for the reason below its
table. A scenario that comes out otherwise fails a test, be it for the better, and so does one that
is in no table.
"""


def conformance_page() -> str:
    shown_by = tests_by_requirement()
    parts: list[Iterable[str]] = [
        ("# Conformance", "", NOTICE, "", INTRODUCTION),
        peers_part(),
        requirements_part(shown_by),
        scenarios_part(shown_by),
        rules_part(shown_by),
        ("## The conformance suite", "", SUITE),
        ("### The relay as its client", ""),
        client_tables(),
        ("### The service as its server", ""),
        server_tables(),
        discrepancies_part(),
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def tests_by_requirement() -> Mapping[str, Sequence[str]]:
    """The tests that bear an id, in the order of their files."""
    shown_by: dict[str, list[str]] = defaultdict(list)
    for test in collected():
        for one in sorted(test.ids):
            shown_by[one].append(test.place)
    return shown_by


def peers_part() -> Iterator[str]:
    yield from ("## Who is at the other end", "")
    yield from table(["peer", "what it is"], [[one.name, one.title] for one in manifest().peer])
    yield ""


def requirements_part(shown_by: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from ("## What is pinned", "")
    yield "A pairing is the era of the client and that of the server: *legacy* is 2024-11-05 to"
    yield "2025-11-25, *modern* is 2026-07-28. The number leads to the specification."
    yield ""
    for section in manifest().section:
        yield from section_part(section, shown_by)


def section_part(section: Section, shown_by: Mapping[str, Sequence[str]]) -> Iterator[str]:
    named = {peer for entry in section.requirement for peer in entry.peers}
    peers = [peer.name for peer in manifest().peer if peer.name in named]
    yield from (f"### {section.title}", "")
    rows = [
        [
            f"`{entry.id}`",
            " ".join([entry.sentence, *links(entry)]),
            pairings(entry),
            *("✓" if peer in entry.peers else "" for peer in peers),
        ]
        for entry in section.requirement
    ]
    yield from table(["id", "requirement", "pairings", *peers], rows)
    yield ""
    for entry in section.requirement:
        yield f"* `{entry.id}`: {places(shown_by[entry.id])}"
    yield ""


def links(entry: Requirement) -> list[str]:
    """Where the specification says so."""
    return [f"[{place.split('/')[0]}]({SPECIFICATION}/{place})" for place in entry.spec]


def pairings(entry: Requirement) -> str:
    if entry.eras == PAIRINGS:
        return "all"
    return ", ".join(pairing.replace("-", " → ") for pairing in entry.eras)


def places(tests: Sequence[str]) -> str:
    """Tests by their files; the names of a few, the number of many."""
    by_file: dict[str, list[str]] = defaultdict(list)
    for place in tests:
        file, _, name = place.partition("::")
        by_file[file].append(f"`{name}`")
    return "; ".join(
        f"[{file}](../tests_integration/{file}) "
        + (", ".join(names) if len(names) <= FEW else f"({len(names)} tests)")
        for file, names in by_file.items()
    )


def scenarios_part(shown_by: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from ("## The six scenarios", "")
    yield "What the harness began with, by the names that they had there."
    yield ""
    for scenario in manifest().scenario:
        parts = [entry.id for entry in manifest().requirements if entry.scenario == scenario.name]
        tests = dict.fromkeys(place for one in parts for place in shown_by[one])
        yield f"1. {scenario.title} (`{scenario.name}`)"
        yield f"   {', '.join(f'`{one}`' for one in parts)}: {places(list(tests))}"
    yield ""


def rules_part(shown_by: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from ("## The rules of the harness", "")
    yield "A test of real processes is worth what its waits are worth, so these are tested as well."
    yield ""
    rows = [[rule.sentence, places(shown_by[rule.id])] for rule in manifest().rule]
    yield from table(["rule", "shown by"], rows)
    yield ""


def discrepancies_part() -> Iterator[str]:
    yield from ("## What peers do otherwise", "")
    yield "Where a peer differs from the specification, from its other releases, or from what one"
    yield "would think; the release is the one in which it was seen."
    yield ""
    for entry in manifest().discrepancy:
        pinned = ", ".join(f"`{one}`" for one in entry.requirements)
        yield f"* **{entry.peer}**, {entry.version}: {entry.what} The relay {entry.relay}" + (
            f" ({pinned})." if pinned else "."
        )
