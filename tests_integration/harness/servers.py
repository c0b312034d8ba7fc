"""Servers under test, each in a process of its own on a port of the kernel's choice."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.process import Process

START_SECONDS = 60.0
"""How long a server may take to listen: loading an SDK takes seconds, and machines are busy."""


@dataclass(frozen=True)
class Server:
    """A running MCP server, where it listens, and the process that says what it does."""

    url: str
    process: Process

    def says(self, pattern: str, deadline: Deadline) -> re.Match[str]:
        """Wait for a line in which the server tells of what it does."""
        return self.process.says(pattern, deadline)


class Peer(ABC):
    """Where servers of one make come from; each for as long as it is not killed."""

    @abstractmethod
    def start(self, kind: str = "dual", port: str = "0") -> Server: ...

    @abstractmethod
    def kill(self, server: Server) -> None:
        """End a server as a crash does, unless it has ended already."""

    def restart(self, server: Server, kind: str = "dual") -> None:
        """Kill a server and start another one at its address."""
        match = re.search(r":(\d+)/", server.url)
        assert match
        self.kill(server)
        self.start(kind, match[1])


class References(Peer):
    """Servers of one SDK; ``tests_integration.peers`` says which kinds there are.

    Each is a process of its own, forked from one that has loaded the SDK.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._pids: dict[str, str] = {}

    def start(self, kind: str = "dual", port: str = "0") -> Server:
        self._process.write(f"start {kind} {port}\n".encode())
        match = self._process.says(
            r"listening on (http://127\.0\.0\.1:\d+/\w+) as (\d+)", Deadline(START_SECONDS)
        )
        self._pids[match[1]] = match[2]
        return Server(match[1], self._process)

    def kill(self, server: Server) -> None:
        """End a server as a crash does, unless it has ended already."""
        pid = self._pids.pop(server.url, None)
        if pid is None:
            return
        self._process.write(f"kill {pid}\n".encode())
        self._process.says(f"killed {pid}$", Deadline(START_SECONDS))


class Services(Peer):
    """Our own service, whose only kind is ``dual``."""

    def __init__(self) -> None:
        self._running: dict[str, ExitStack] = {}

    def start(self, kind: str = "dual", port: str = "0") -> Server:
        running = ExitStack()
        server = running.enter_context(service(port=port))
        self._running[server.url] = running
        return server

    def kill(self, server: Server) -> None:
        if running := self._running.pop(server.url, None):
            server.process.kill()
            running.close()

    def close(self) -> None:
        for running in self._running.values():
            running.close()


@contextmanager
def references(python: str = sys.executable, module: str = "mcp_2") -> Iterator[References]:
    """The servers of the SDK that ``python`` has installed."""
    process = Process((python, "-m", f"tests_integration.peers.{module}"))
    try:
        yield References(process)
    finally:
        process.close()


@contextmanager
def serving(command: Sequence[str]) -> Iterator[Server]:
    """A server that prints its own URL when it listens."""
    process = Process(command)
    try:
        url = process.says(r"(http://127\.0\.0\.1:\d+/mcp)", Deadline(START_SECONDS))[1]
        yield Server(url, process)
    finally:
        # A server does not end at the EOF of a stdin that it never reads.
        process.terminate()
        process.close()


@contextmanager
def service(*options: str, port: str = "0") -> Iterator[Server]:
    """``canferry-service serve``; port 0 is one of the kernel's choice."""
    with serving((sys.executable, "-m", "service", "serve", "--port", port, *options)) as server:
        yield server


@contextmanager
def services() -> Iterator[Services]:
    """Our own service, once for each test that starts it."""
    ready = Services()
    try:
        yield ready
    finally:
        ready.close()
