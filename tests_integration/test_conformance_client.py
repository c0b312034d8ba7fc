"""What the official conformance suite finds of the relay is what ``client.toml`` expects."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from tests_integration.conformance.client_table import Expected, Group, Leg, read_table
from tests_integration.conformance.driver import DONE, FAULT, REFUSED, main
from tests_integration.conformance.drives import drive_of
from tests_integration.harness.conformance import VERSIONS, Result, Suite, checks_of, excuse
from tests_integration.harness.conformance_client import RUN_SECONDS, Run, run
from tests_integration.manifest import requirement

WORKERS = 4
"""Runs beside each other: a scenario mostly waits for a process to start."""

TABLE = read_table()
EXCUSED = {each.check for each in TABLE.excused}
UNDATED = {"draft", "extension"}
"""What the suite writes of a scenario that is of no revision of the protocol yet."""

against_the_suite = pytest.mark.matrix
takes_a_run = pytest.mark.takes(RUN_SECONDS)


@cache
def scenarios(release: str) -> dict[str, list[str]]:
    """What a release of the suite has for clients."""
    return Suite(release).scenarios("client")


class Runs:
    """The runs of all selected tests, in the order of the tests, begun with the first of them."""

    def __init__(self, expected: list[Expected], folder: Path, pool: ThreadPoolExecutor) -> None:
        self._runs: dict[Expected, Future[Run]] = {}
        for number, each in enumerate(expected):
            place = folder / str(number)
            place.mkdir()
            self._runs[each] = pool.submit(run, each, EXCUSED, place)

    def __getitem__(self, expected: Expected) -> Run:
        # All before it have been waited for, so it runs already or does so at once.
        return self._runs[expected].result(RUN_SECONDS)


@pytest.fixture(scope="session")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    tests = [item for item in request.session.items if isinstance(item, pytest.Function)]
    parameters = [test.callspec.params for test in tests if "runs" in test.fixturenames]
    selected = [one for each in parameters for one in each.values() if isinstance(one, Expected)]
    pool = ThreadPoolExecutor(WORKERS)
    yield Runs(selected, tmp_path_factory.mktemp("conformance"), pool)
    pool.shutdown(cancel_futures=True)


def each_that(*, passes: bool) -> pytest.MarkDecorator:
    expected = [each for each in TABLE.expected() if each.passes is passes]
    return pytest.mark.parametrize("expected", expected, ids=lambda each: each.name)


@against_the_suite
@takes_a_run
@requirement("conformance.client", peer="conformance")
@each_that(passes=True)
def test_a_scenario_passes(runs: Runs, expected: Expected) -> None:
    found = runs[expected]
    assert found.result.is_pass, str(found)
    assert found.outcome == (REFUSED if expected.answer else DONE), str(found)
    assert expected.answer in found.said, str(found)


@against_the_suite
@takes_a_run
@requirement("conformance.client-table")
@each_that(passes=False)
def test_a_scenario_that_is_expected_to_fail_fails_with_the_expected_answer(
    runs: Runs, expected: Expected
) -> None:
    found = runs[expected]
    assert not found.result.is_pass, f"passes, although it is expected to fail: {found}"
    assert found.outcome == REFUSED, str(found)
    assert expected.answer in found.said, str(found)


@against_the_suite
@requirement("conformance.client-table")
@pytest.mark.parametrize("release", VERSIONS)
def test_every_scenario_that_the_suite_has_is_in_the_table(release: str) -> None:
    listed = {name for leg in TABLE.of(release) for name in leg.listed()}
    assert listed == set(scenarios(release))


@against_the_suite
@requirement("conformance.client-table")
@pytest.mark.parametrize("leg", TABLE.leg, ids=lambda leg: leg.name)
def test_a_leg_has_every_scenario_of_its_revision_and_none_of_another(leg: Leg) -> None:
    dated = scenarios(leg.release)
    of_revision = {name for name, dates in dated.items() if leg.revision in dates}
    undated = {name for name, dates in dated.items() if UNDATED & set(dates)}
    assert of_revision <= leg.listed() <= of_revision | undated


@requirement("conformance.client-table")
def test_a_scenario_is_named_once_in_a_leg() -> None:
    twice = Group(reason="It is so.", scenarios=("initialize",))
    with pytest.raises(ValueError, match="named twice: initialize"):
        Leg("2025-11-25", "2025-11-25", "0.1.16", passes=("initialize",), left_out=(twice,))


@requirement("conformance.client-table")
def test_a_failure_is_not_expected_without_the_answer_that_tells_of_it() -> None:
    silent = Group(reason="It is so.", scenarios=("initialize",))
    with pytest.raises(ValueError, match="with an answer"):
        Leg("2025-11-25", "2025-11-25", "0.1.16", fails=(silent,))


@requirement("conformance.client-table")
@pytest.mark.parametrize("scenario", sorted({each.scenario for each in TABLE.expected()}))
def test_the_driver_knows_what_to_do_in_a_scenario(scenario: str) -> None:
    assert callable(drive_of(scenario))


@requirement("conformance.client-table")
@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ({}, 0),
        ({"one": "SKIPPED"}, 0),
        ({"one": "INFO"}, 0),
        ({"wire-schema-valid": "SUCCESS"}, 0),
        ({"one": "SUCCESS", "other": "FAILURE"}, 0),
        ({"one": "SUCCESS", "wire-schema-valid": "FAILURE"}, 0),
        ({"one": "SUCCESS", "other": "WARNING"}, 1),
        ({"one": "SUCCESS", "late": "WARNING", "other": "WARNING"}, 1),
        ({"one": "SUCCESS", "late": "FAILURE"}, 1),
        ({"late": "WARNING"}, 1),
        ({"one": "SUCCESS"}, 1),
    ],
    ids=str,
)
def test_a_run_that_shows_nothing_or_in_which_something_is_wrong_does_not_pass(
    statuses: Mapping[str, str], code: int, tmp_path: Path
) -> None:
    assert not recorded(statuses, code, tmp_path).is_pass


@requirement("conformance.client-table")
def test_a_run_of_which_a_part_is_skipped_passes(tmp_path: Path) -> None:
    assert recorded({"one": "SUCCESS", "other": "SKIPPED"}, 0, tmp_path).is_pass


@requirement("conformance.client-table")
def test_a_run_in_which_nothing_but_an_excused_check_warns_passes(tmp_path: Path) -> None:
    assert recorded({"one": "SUCCESS", "late": "WARNING"}, 1, tmp_path).is_pass


def recorded(statuses: Mapping[str, str], code: int, folder: Path) -> Result:
    """The result of a run with these checks, read as the suite records them; late is excused."""
    file = folder / "auth" / "metadata-default-2026-12-01T12-26-59-835Z" / "checks.json"
    file.parent.mkdir(parents=True)
    entries = [{"id": name, "status": statuses[name], "description": ""} for name in statuses]
    file.write_text(json.dumps(entries))
    ((_, checks),) = checks_of(folder)
    return Result.of("auth/metadata-default", "0.1.16", "a leg", excuse(checks, {"late"}), code)


@requirement("conformance.client-table")
def test_the_driver_ends_by_itself_when_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        code = main(["2025-11-25", url], {"MCP_CONFORMANCE_SCENARIO": "tools_call"}, seconds=1.0)
    printed = capsys.readouterr()
    assert (code, printed.out) == (1, f"{FAULT}\n")
    assert "did not come in time" in printed.err
    assert "relay ended with 0" in printed.err
