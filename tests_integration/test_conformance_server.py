"""What the official conformance suite finds of the service is what ``server.toml`` expects."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests_integration.conformance.server_table import Group, Leg, read_table
from tests_integration.harness.conformance import VERSIONS, Suite
from tests_integration.harness.conformance_server import Outcome, judge, read_outcomes
from tests_integration.harness.servers import Server, service, serving
from tests_integration.manifest import requirement

RUN_SECONDS = 120.0
"""How long the suite may take; idle, it takes one second for all scenarios of a leg."""

FIXTURE = (sys.executable, "-m", "tests_integration.conformance.fixture_service")

TABLE = read_table()

against_the_suite = pytest.mark.matrix
takes_a_run = pytest.mark.takes(RUN_SECONDS)


class Runs:
    """The outcomes of each leg, which runs once, when the first of its tests asks for them."""

    def __init__(self, running: ExitStack, folder: Path) -> None:
        self._running = running
        self._folder = folder
        self._servers: dict[str, Server] = {}
        self._outcomes: dict[str, dict[str, Outcome]] = {}

    def __getitem__(self, leg: Leg) -> dict[str, Outcome]:
        if leg.name not in self._outcomes:
            self._outcomes[leg.name] = {}  # a run that fails is not tried again by every test
            url, folder = self._server(leg.server).url, self._folder / leg.name
            folder.mkdir()
            found = judge(leg.release, leg.arguments, url, folder, RUN_SECONDS)
            self._outcomes[leg.name] = found
        return self._outcomes[leg.name]

    def _server(self, name: str) -> Server:
        if name not in self._servers:
            server = service() if name == "service" else serving(FIXTURE)
            self._servers[name] = self._running.enter_context(server)
        return self._servers[name]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with ExitStack() as running:
        yield Runs(running, tmp_path_factory.mktemp("conformance"))


@against_the_suite
@takes_a_run
@requirement("conformance.server", peer="conformance")
@pytest.mark.parametrize(
    ("leg", "scenario"),
    [
        pytest.param(leg, scenario, id=f"{leg.name} {scenario}")
        for leg in TABLE.leg
        for scenario in leg.passes
    ],
)
def test_a_scenario_passes(runs: Runs, leg: Leg, scenario: str) -> None:
    outcome = runs[leg][scenario]
    assert outcome.is_pass, outcome


@against_the_suite
@takes_a_run
@requirement("conformance.server-table")
@pytest.mark.parametrize(
    ("leg", "group"),
    [
        pytest.param(leg, group, id=f"{leg.name} {group.scenarios[0]}")
        for leg in TABLE.leg
        for group in leg.fails
    ],
)
def test_a_scenario_that_is_expected_to_fail_fails_in_what_is_expected(
    runs: Runs, leg: Leg, group: Group
) -> None:
    found = [runs[leg][scenario] for scenario in group.scenarios]
    assert not [outcome.scenario for outcome in found if outcome.is_pass]
    if group.checks:
        missed = {check for outcome in found for check in outcome.shortcomings}
        assert missed == set(group.checks), "\n".join(map(str, found))


@against_the_suite
@takes_a_run
@requirement("conformance.server-table")
@pytest.mark.parametrize("leg", [pytest.param(leg, id=leg.name) for leg in TABLE.leg])
def test_every_scenario_that_runs_is_in_the_table(runs: Runs, leg: Leg) -> None:
    ran = set(runs[leg])
    assert ran - leg.listed() == set()
    assert leg.judged() - ran == set()


@against_the_suite
@takes_a_run
@requirement("conformance.server-table")
@pytest.mark.parametrize("release", VERSIONS)
def test_every_scenario_that_the_suite_has_is_in_the_table(release: str) -> None:
    assert TABLE.of(release) == set(Suite(release).scenarios("server"))


@requirement("conformance.server-table")
@pytest.mark.parametrize(
    "statuses",
    [
        {},
        {"one": "SKIPPED"},
        {"one": "INFO"},
        {"wire-schema-valid": "SUCCESS"},
        {"one": "SUCCESS", "other": "WARNING"},
        {"one": "SUCCESS", "other": "FAILURE"},
        {"one": "SUCCESS", "wire-schema-valid": "FAILURE"},
    ],
    ids=str,
)
def test_a_scenario_that_shows_nothing_or_falls_short_does_not_pass(
    statuses: dict[str, str], tmp_path: Path
) -> None:
    record(statuses, tmp_path)
    assert not read_outcomes(tmp_path)["tools-list"].is_pass


@requirement("conformance.server-table")
def test_a_scenario_of_which_a_part_is_skipped_passes(tmp_path: Path) -> None:
    record({"one": "SUCCESS", "other": "SKIPPED"}, tmp_path)
    assert read_outcomes(tmp_path)["tools-list"].is_pass


def record(statuses: dict[str, str], folder: Path) -> None:
    """The checks of one scenario, as the suite records them."""
    checks = folder / "server-tools-list-2026-12-01T12-26-59-835Z" / "checks.json"
    checks.parent.mkdir()
    found = [
        {"id": name, "status": status, "description": "It is so."}
        for name, status in statuses.items()
    ]
    checks.write_text(json.dumps(found))
