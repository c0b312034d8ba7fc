"""A stdio MCP client that times a relay process; every wait is bounded.

One thread and one poll loop move bytes both ways: a full pipe on either side cannot lock it up,
and no time goes into handing over between threads.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

PROTOCOL_VERSION = "2025-06-18"  # the newest that all contenders speak
CALL_SECONDS = 60.0
EXIT_SECONDS = 10.0

_READ_SIZE = 1 << 20

Message = dict[str, Any]


class RelayFailure(Exception):
    """The relay answered wrongly, too late, or ended; the text says which."""


@contextmanager
def running(command: list[str], environment: Mapping[str, str]) -> Iterator[Client]:
    """Start a relay; its process group is gone when the context is left."""
    with tempfile.TemporaryFile() as stderr:
        client = Client(command, dict(environment), stderr)
        try:
            yield client
        finally:
            client.kill()


class Client:
    """Speaks to a relay that it has started."""

    def __init__(self, command: list[str], environment: dict[str, str], stderr: IO[bytes]) -> None:
        """``stderr`` takes what the relay says to people; the end of it is told if it fails."""
        self._stderr = stderr
        self.started_at = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            start_new_session=True,  # so that kill() ends this group and nothing else
        )
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)
        self._unsent: deque[memoryview] = deque()
        self._lines: deque[bytes] = deque()
        self._partial: list[bytes] = []
        self._ended = False
        self._last_id = 0

    def open(self) -> float:
        """Shake hands; return the seconds from the start of the process to its answer."""
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        opened = self.request("initialize", params)
        self.reply({opened})
        took = time.perf_counter() - self.started_at
        self._send({"method": "notifications/initialized"})
        return took

    def call(self, tool: str, **arguments: str | float) -> float:
        """Call a tool; return the seconds to its answer, without the parsing of it here."""
        began = time.perf_counter()
        request_id = self.start(tool, **arguments)
        while True:
            line = self.line(CALL_SECONDS)
            took = time.perf_counter() - began
            if _answered(line) == request_id:
                return took

    def start(self, tool: str, **arguments: str | float) -> int:
        """Send a call that asks for progress too, and return its id."""
        meta = {"progressToken": "t"}
        return self.request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})

    def request(self, method: str, params: Message) -> int:
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def reply(self, wanted: set[int]) -> int:
        """The id of the next answer among ``wanted``."""
        deadline = time.perf_counter() + CALL_SECONDS
        while True:
            answered = _answered(self.line(deadline - time.perf_counter()))
            if answered in wanted:
                return answered

    def line(self, seconds: float) -> bytes:
        """The next line of stdout without its LF."""
        deadline = time.perf_counter() + seconds
        while not self._lines:
            if self._ended:
                raise RelayFailure(f"it closed stdout; its stderr ends: {self._last_words()}")
            left = deadline - time.perf_counter()
            if left <= 0:
                raise RelayFailure(f"no line within {seconds:.3g} s")
            self._step(left)
        return self._lines.popleft()

    def finish(self) -> float:
        """Close stdin; return the seconds to the end of the process."""
        while self._unsent and not self._ended:
            self._step(EXIT_SECONDS)
        began = time.perf_counter()
        self._stdin.close()
        while time.perf_counter() - began < EXIT_SECONDS:
            if not self._ended:
                self._step(EXIT_SECONDS)
                continue
            try:
                self._process.wait(EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                break
            return time.perf_counter() - began
        raise RelayFailure(f"still running {EXIT_SECONDS:g} s after the end of its stdin")

    def kill(self) -> None:
        """End the process group, if it is still there; a second time does nothing."""
        if self._stdout.closed:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        with suppress(OSError):
            self._stdin.close()
        self._stdout.close()

    def _send(self, message: Message) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        self._unsent.append(memoryview(line))
        self._flush()

    def _flush(self) -> None:
        while self._unsent:
            data = self._unsent.popleft()
            try:
                written = os.write(self._stdin.fileno(), data)
            except BlockingIOError:
                written = 0
            except OSError:
                self._unsent.clear()  # the reader of its stdout will tell
                return
            if written < len(data):
                self._unsent.appendleft(data[written:])
                return

    def _step(self, seconds: float) -> None:
        """Wait once for either pipe and move what can be moved."""
        poll = select.poll()
        poll.register(self._stdout.fileno(), select.POLLIN)
        if self._unsent:
            poll.register(self._stdin.fileno(), select.POLLOUT)
        for descriptor, _ in poll.poll(max(seconds, 0) * 1000):
            if descriptor == self._stdout.fileno():
                self._fill()
            else:
                self._flush()

    def _fill(self) -> None:
        data = os.read(self._stdout.fileno(), _READ_SIZE)
        if not data:
            self._ended = True
            return
        first, *rest = data.split(b"\n")
        self._partial.append(first)
        if rest:
            self._lines.append(b"".join(self._partial))
            self._lines.extend(rest[:-1])
            self._partial = [rest[-1]]

    def _last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        # Tracebacks of task groups end in rules.
        return next((line for line in reversed(lines) if any(map(str.isalnum, line))), "nothing")


def _answered(line: bytes) -> int | None:
    """The id that a line answers; None for a notification."""
    message: Message = json.loads(line)
    if "method" in message:
        return None
    if "error" in message or message["result"].get("isError"):
        raise RelayFailure(f"it answered {line[:200]!r}")
    request_id = message["id"]
    assert isinstance(request_id, int)
    return request_id
