"""A child process on three pipes, and the ladder by which it ends."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.inbox import Inbox

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Patience:
    """How many seconds the end of a process may take, step by step."""

    eof: float = 12.0
    terminate: float = 4.0
    kill: float = 4.0
    pipes: float = 4.0  # until what it has written is read

    @property
    def total(self) -> float:
        return self.eof + self.terminate + self.kill + self.pipes


PATIENCE = Patience()

CLOSING_SECONDS = PATIENCE.total
"""The longest that the end of one process can take."""


class Orphaned(AssertionError):
    """A process has ended, but something that it has started still holds its pipes."""


class Child(Protocol):
    """What the ladder needs of a process."""

    def close_stdin(self) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float) -> int:
        """The exit code; raises ``subprocess.TimeoutExpired``."""
        ...


def end(child: Child, patience: Patience = PATIENCE) -> int:
    """EOF, then terminate, then kill, each with a bound; the exit code.

    Errors: ``subprocess.TimeoutExpired`` for a process that survives all three, as nothing more
    can be done about it.
    """
    child.close_stdin()
    try:
        return child.wait(patience.eof)
    except subprocess.TimeoutExpired:
        child.terminate()
    try:
        return child.wait(patience.terminate)
    except subprocess.TimeoutExpired:
        child.kill()
    return child.wait(patience.kill)


class Process:
    """A child whose stdout is read line by line, and whose stderr is kept whole."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        patience: Patience = PATIENCE,
    ) -> None:
        """``environ``: variables beside those of :func:`environment`."""
        self._patience = patience
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**environment(), **(environ or {})},
        )
        self._errors: list[bytes] = []
        self.lines: Inbox[bytes] = Inbox(lambda: f"stderr:\n{self.stderr()}")
        assert self._child.stdout and self._child.stderr
        errors, lines = self._readers = (
            threading.Thread(target=self._keep_errors, args=(self._child.stderr,), daemon=True),
            threading.Thread(target=self._read_lines, args=(self._child.stdout,), daemon=True),
        )
        errors.start()
        lines.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def _read_lines(self, stream: IO[bytes]) -> None:
        for line in stream:
            self.lines.put(line)
        # Who waits for a line that will not come is told why, so first comes all of stderr.
        self._readers[0].join(self._patience.pipes)
        self.lines.end()

    def _keep_errors(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._errors.append(line)

    def stderr(self) -> str:
        """What the process has written to stderr; all of it once the process has ended."""
        return b"".join(self._errors).decode("utf-8", "replace")

    def says(self, pattern: str, deadline: Deadline) -> re.Match[str]:
        """The first line of stdout, not taken yet, in which ``pattern`` is found."""
        compiled = re.compile(pattern)
        line = self.lines.take(
            lambda line: compiled.search(line.decode()) is not None, deadline, repr(pattern)
        )
        match = compiled.search(line.decode())
        assert match
        return match

    def write(self, data: bytes) -> None:
        assert self._child.stdin
        self._child.stdin.write(data)
        self._child.stdin.flush()

    # -- its end: the protocol of Child --

    def close_stdin(self) -> None:
        assert self._child.stdin
        # A child that has ended already may leave something of ours unread.
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.close()

    def terminate(self) -> None:
        self._child.terminate()

    def kill(self) -> None:
        self._child.kill()

    def wait(self, timeout: float) -> int:
        """The exit code of a process that ends by itself."""
        return self._child.wait(timeout)

    def close(self) -> int:
        """End it by the ladder, read its pipes to their ends, and give its exit code.

        Errors: Orphaned, as then it is not known what else is going to be written.
        """
        code = end(self, self._patience)
        deadline = Deadline(self._patience.pipes)
        for reader in self._readers:
            reader.join(deadline.left())
        if any(reader.is_alive() for reader in self._readers):
            # To close a pipe that is being read would wait for its end.
            raise Orphaned(f"something that it has started outlives process {self.pid}")
        for stream in (self._child.stdout, self._child.stderr):
            assert stream
            stream.close()
        return code


def environment() -> dict[str, str]:
    """The environment without anything that would set an option of ours."""
    return dict(_not_ours(os.environ))


def _not_ours(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if not name.startswith(("CANFERRY_", "MCP_")):
            yield name, value
