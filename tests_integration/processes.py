"""Starting and ending the programs under test, every wait bounded."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, Queue
from typing import IO

from mcp import StdioServerParameters

PYTHON = sys.executable
START_SECONDS = 60.0
STOP_SECONDS = 10.0


class ProcessDied(AssertionError):
    """A process ended, or stayed silent, while a test waited for a line of its stdout."""


class Process:
    """A child whose stdout is read line by line and whose stderr is kept for the failure text."""

    def __init__(self, *command: str) -> None:
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._lines: Queue[str | None] = Queue()
        self.errors: list[str] = []
        assert self._child.stdout and self._child.stderr
        self._readers = [
            threading.Thread(target=self._read_lines, args=(self._child.stdout,), daemon=True),
            threading.Thread(target=self._keep_errors, args=(self._child.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_lines(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _keep_errors(self, stream: IO[str]) -> None:
        self.errors.extend(stream)

    def wait_for_line(self, pattern: str, seconds: float = START_SECONDS) -> re.Match[str]:
        """The first line that matches; raises as soon as the process closes its stdout."""
        while True:
            try:
                line = self._lines.get(timeout=seconds)
            except Empty:
                raise ProcessDied(f"no line like {pattern!r} within {seconds} s") from None
            if line is None:
                raise ProcessDied(f"ended before {pattern!r}; stderr: {''.join(self.errors)}")
            if match := re.search(pattern, line):
                return match

    def send(self, line: str) -> None:
        assert self._child.stdin
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()

    def close_stdin(self) -> None:
        assert self._child.stdin
        self._child.stdin.close()

    def terminate(self) -> None:
        self._child.terminate()

    def wait(self) -> int:
        """The exit code of a process that ends by itself."""
        return self._child.wait(STOP_SECONDS)

    def kill(self) -> None:
        self._child.kill()
        self._child.wait(STOP_SECONDS)

    def stop(self) -> int:
        """Terminate, then kill; returns the exit code."""
        if self._child.stdin and not self._child.stdin.closed:
            self._child.stdin.close()
        self._child.terminate()
        try:
            code = self._child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            code = self._child.wait(STOP_SECONDS)
        for reader in self._readers:
            reader.join(STOP_SECONDS)
        for stream in (self._child.stdout, self._child.stderr):
            if stream:
                stream.close()
        return code


@dataclass(frozen=True)
class Server:
    """A running MCP server and where it listens."""

    url: str
    process: Process


@contextmanager
def _serving(*command: str) -> Iterator[Server]:
    process = Process(*command)
    try:
        yield Server(process.wait_for_line(r"(http://127\.0\.0\.1:\d+/mcp)")[1], process)
    finally:
        process.stop()


@contextmanager
def service(*options: str) -> Iterator[Server]:
    """``canferry-service serve`` on a port of the kernel's choice."""
    with _serving(PYTHON, "-m", "service", "serve", "--port", "0", *options) as server:
        yield server


class References:
    """Servers of the SDK, each in a process of its own; see ``reference_server`` for the kinds."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._pids: dict[str, str] = {}

    def start(self, kind: str = "dual", port: str = "0") -> Server:
        self._process.send(f"start {kind} {port}")
        match = self._process.wait_for_line(r"listening on (http://127\.0\.0\.1:\d+/mcp) as (\d+)")
        self._pids[match[1]] = match[2]
        return Server(match[1], self._process)

    def kill(self, server: Server) -> None:
        """End a server as a crash does."""
        pid = self._pids.pop(server.url)
        self._process.send(f"kill {pid}")
        self._process.wait_for_line(f"killed {pid}")

    def restart(self, server: Server, kind: str) -> None:
        """Kill a server and start another one at its address."""
        self.kill(server)
        port = re.search(r":(\d+)/", server.url)
        assert port
        self.start(kind, port[1])


@contextmanager
def references() -> Iterator[References]:
    process = Process(PYTHON, "-m", "tests_integration.reference_server")
    try:
        yield References(process)
    finally:
        process.stop()


def relay(url: str, *options: str) -> StdioServerParameters:
    """How an ordinary stdio client starts the relay against ``url``."""
    return StdioServerParameters(command=PYTHON, args=["-m", "relay", url, *options])
