"""The peers by the names that the manifest gives them: servers nobody here wrote, and our own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from tests_integration.harness.environments import NoNpm, environment
from tests_integration.harness.everything import everything
from tests_integration.harness.servers import Peer, references, services

MAKERS: Mapping[str, Callable[[], AbstractContextManager[Peer]]] = {
    "mcp-2.3": references,
    "mcp-2.0": lambda: references(environment("mcp-2.0").python),
    "mcp-1": lambda: references(environment("mcp-1").python, "mcp_1"),
    "everything": everything,
    "service": services,
}
IN_OUR_ENVIRONMENT = ("mcp-2.3", "service")


class Peers:
    """Each peer is set up when a test first needs it."""

    def __init__(self, ready: ExitStack) -> None:
        self._ready = ready
        self._peers: dict[str, Peer] = {}

    def __getitem__(self, name: str) -> Peer:
        if name not in self._peers:
            try:
                self._peers[name] = self._ready.enter_context(MAKERS[name]())
            except NoNpm as error:
                # At home the other peers do; where the whole matrix is promised, it is a failure.
                if "CI" in os.environ:
                    raise
                pytest.skip(str(error))
        return self._peers[name]


@contextmanager
def all_peers() -> Iterator[Peers]:
    with ExitStack() as ready:
        yield Peers(ready)


def on(*names: str) -> pytest.MarkDecorator:
    """Run a test on each of these, as its fixture ``peer``."""
    return pytest.mark.parametrize(
        "peer",
        [
            pytest.param(name, marks=() if name in IN_OUR_ENVIRONMENT else pytest.mark.matrix)
            for name in names
        ],
        indirect=True,
    )
