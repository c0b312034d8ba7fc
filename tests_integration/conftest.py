"""Real processes on loopback, and the rules by which tests wait for them.

1. No sleep stands for synchronisation: a test waits for a message, a line, or the end of a process.
2. Every wait is bounded, and all waits of a test draw on one deadline (``stage.deadline``) that
   leaves its time limit enough for the teardown.
3. A process that ends while it is waited for fails the wait at once, with its stderr; so does one
   that ends while it is to be silent.
4. Teardown is EOF, then terminate, then kill, each with a bound.
5. stderr is compared by its content, and for what it must not say only once it is complete.
6. A relay ends before its server, in whatever order a test names its fixtures.
7. What is measured is printed at the end and never asserted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.peers import Peers, all_peers
from tests_integration.harness.process import CLOSING_SECONDS
from tests_integration.harness.servers import START_SECONDS, Peer, Server, service
from tests_integration.harness.stage import Stage

TEST_SECONDS = 60.0
"""What all waits of one test may take together, unless it asks for more."""

SETUP_SECONDS = START_SECONDS
"""What a test's time limit keeps for the servers that it is the first to need."""

TEARDOWN_SECONDS = 2 * CLOSING_SECONDS
"""What a test's time limit keeps for its end: two relays that have to be killed."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """``@pytest.mark.takes(seconds)``: what a test may wait for; its time limit follows from it."""
    limit = _may_take(item) + SETUP_SECONDS + TEARDOWN_SECONDS
    if item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(limit))


def _may_take(item: pytest.Item) -> float:
    marker = item.get_closest_marker("takes")
    return TEST_SECONDS if marker is None else float(marker.args[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what its relays said."""
    report = yield
    stage = getattr(item, "funcargs", {}).get("stage")
    if report.failed and isinstance(stage, Stage):
        report.sections += stage.transcripts()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = (each for some in terminalreporter.stats.values() for each in some)
    lines = [
        text
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, text in report.user_properties
        if name == "measured"
    ]
    if lines:
        terminalreporter.section("measured here")
        terminalreporter.write("".join(f"{line}\n" for line in sorted(lines)))


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[[str, float], None]:
    """Note a figure, in milliseconds, to be printed when all tests have run."""

    def note(what: str, seconds: float) -> None:
        request.node.user_properties.append(("measured", f"{what}: {seconds * 1000:.1f} ms"))

    return note


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """What this test starts, under the deadline of its waits."""
    stage = Stage(Deadline(_may_take(request.node)))
    yield stage
    stage.close()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our service on the embedded rig: ``powertrain`` armed by its operator, ``truck`` not."""
    captures = tmp_path_factory.mktemp("captures")
    with service("--captures", str(captures), "--arm", "powertrain") as server:
        yield server


@pytest.fixture(scope="session")
def peers() -> Iterator[Peers]:
    with all_peers() as ready:
        yield ready


@pytest.fixture
def peer(request: pytest.FixtureRequest, peers: Peers) -> Peer:
    """The peer that the test is to run on; see :func:`on`."""
    return peers[request.param]


@pytest.fixture(scope="session")
def sdk(peers: Peers) -> Peer:
    """The MCP SDK of our own environment, ready to be a server of whatever kind at once."""
    return peers["mcp-2.3"]


@pytest.fixture(scope="session")
def reference(sdk: Peer) -> Server:
    """A server of the MCP SDK, as its documentation builds one."""
    return sdk.start()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for folder in ("captures", "databases"):
        (tmp_path / folder).mkdir()
    return tmp_path
