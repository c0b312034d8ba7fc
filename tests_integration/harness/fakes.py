"""Stand-ins on which the rules of the harness itself are tested."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from tests_integration.harness.process import Process
from tests_integration.harness.servers import Peer, Server

NOWHERE = "http://127.0.0.1:9/mcp"
"""Where nothing listens; a relay starts and ends there as anywhere."""


@dataclass
class FakeClock:
    """A clock that stands still until it is set."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeChild:
    """A process (``process.Child``) that outlives so many steps of the ladder.

    ``steps`` are those that were taken, a wait by its bound.
    """

    outlives: int
    steps: list[str | float] = field(default_factory=list)

    def close_stdin(self) -> None:
        self.steps.append("EOF")

    def terminate(self) -> None:
        self.steps.append("terminate")

    def kill(self) -> None:
        self.steps.append("kill")

    def wait(self, timeout: float) -> int:
        self.steps.append(timeout)
        waits = sum(isinstance(step, float) for step in self.steps)
        if waits <= self.outlives:
            raise subprocess.TimeoutExpired("a stubborn process", timeout)
        return 0


@dataclass
class FakePeer(Peer):
    """A peer (``servers.Peer``) whose servers serve nothing; ``on_kill`` sees the end of each."""

    on_kill: Callable[[], object] = lambda: None

    def start(self, kind: str = "dual", port: str = "0") -> Server:
        return Server(NOWHERE, Process((sys.executable, "-c", "import sys; sys.stdin.read()")))

    def kill(self, server: Server) -> None:
        self.on_kill()
        server.process.close()
