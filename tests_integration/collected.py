"""The tests of this folder as pytest collects them: what each shows, and on which peers.

Collecting runs no test and needs no peer. It is done by a pytest of its own, in which this module
is a plugin that writes down what was found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
SECONDS = 120.0
"""How long collecting may take: it loads an SDK."""

BOUND_TO = {"sdk": "mcp-2.3", "rig": "service"}
"""Fixtures of one peer, which others may stand on; ``peer`` is of the one it is given."""


@dataclass(frozen=True)
class Collected:
    """One test function, all its parameters together."""

    place: str
    """``test_file.py::test_name``"""
    shows: frozenset[tuple[str, str]]
    """Pairs of a requirement and a peer; the peer of a test that has none is empty."""

    @property
    def ids(self) -> set[str]:
        return {one for one, _ in self.shows}


class CollectionFailed(Exception):
    """pytest could not collect the tests; the text is what it said."""


@cache
def collected() -> tuple[Collected, ...]:
    """Every test, in the order of its file."""
    return collect(FOLDER)


def collect(folder: Path, root: Path = ROOT) -> tuple[Collected, ...]:
    """Every test below a folder.

    Errors: CollectionFailed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        found = Path(scratch) / "found.json"
        command = [sys.executable, "-m", "pytest", "-p", __name__, "-p", "no:cacheprovider"]
        command += ["--collect-only", "-q", "--collected-to", str(found), str(folder)]
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if done.returncode != pytest.ExitCode.OK:
            raise CollectionFailed(done.stdout + done.stderr)
        entries = json.loads(found.read_text(encoding="utf-8"))
    return tuple(
        Collected(place, frozenset((one, peer) for one, peer in shows))
        for place, shows in entries.items()
    )


# -- the plugin --


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--collected-to", help="write the tests found to this file, as JSON")


def pytest_collection_finish(session: pytest.Session) -> None:
    found: dict[str, list[Sequence[str]]] = {}
    for item in session.items:
        if isinstance(item, pytest.Function):
            place = f"{item.path.name}::{item.originalname}"
            found.setdefault(place, []).extend(shown_by(item))
    target = Path(session.config.getoption("--collected-to"))
    target.write_text(json.dumps(found), encoding="utf-8")


def shown_by(item: pytest.Function) -> Iterable[Sequence[str]]:
    """Pairs of what a test shows and on whom."""
    for mark in item.iter_markers("requirement"):
        peers = [mark.kwargs["peer"]] if mark.kwargs["peer"] else sorted(peers_of(item)) or [""]
        yield from ((one, peer) for one in mark.args for peer in peers)


def peers_of(item: pytest.Function) -> set[str]:
    """The peers whose servers a test's fixtures start."""
    bound = {BOUND_TO[name] for name in item.fixturenames if name in BOUND_TO}
    parameters: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    return bound | ({str(parameters["peer"])} if "peer" in parameters else set())
