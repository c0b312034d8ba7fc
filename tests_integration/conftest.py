"""Real processes on loopback, started once where tests only read and torn down relay first.

Determinism rules of this folder: no sleep stands for synchronisation; each wait is bounded; a
process that dies while it is waited for fails the wait at once with its stderr; teardown is EOF,
then terminate, then kill, each with a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests_integration.processes import References, Server, references, service


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
def sdk() -> Iterator[References]:
    """The MCP SDK, ready to be a server of whatever kind at once."""
    with references() as ready:
        yield ready


@pytest.fixture(scope="session")
def reference(sdk: References) -> Server:
    """A server of the MCP SDK, as its documentation builds one."""
    return sdk.start()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for folder in ("captures", "databases"):
        (tmp_path / folder).mkdir()
    return tmp_path
