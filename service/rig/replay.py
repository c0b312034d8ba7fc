"""A recorded candump file, put on a virtual bus at its own pace."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from service.buses.node import Node
from service.errors import ReplayFileError
from service.model.candump import CandumpSyntaxError, parse_line
from service.model.frame import Frame
from service.rig.pace import FALLBACK_SECONDS, paced

MAX_LATE_SECONDS = 1.0
"""After a longer pause of this process the recording goes on from where it was, without a burst."""

logger = logging.getLogger("service.replay")


class Replay:
    """A ``Source``. The file is read as it is played, never whole.

    ``speed`` 2.0 plays twice as fast. All channels of the recording go to the one bus. Errors:
    ReplayFileError (not readable, or not one frame in it).
    """

    def __init__(self, path: Path, node: Node, *, loop: bool = False, speed: float = 1.0) -> None:
        if not speed > 0:
            raise ValueError(f"speed {speed}: it is a factor above 0")
        self.done = 0
        self.skipped = 0
        self.rounds = 0
        self._path = path
        self._node = node
        self._loop = loop
        self._speed = speed
        self._pending: tuple[float, Frame] | None = None
        self._is_over = False
        self._due: float | None = None
        self.candidates = _count_candidates(path)
        self._paced = paced(self._read())
        self._advance()
        if self._pending is None:
            raise ReplayFileError(f"{path}: no frame in it ({self.skipped} lines skipped)")

    @property
    def total(self) -> int:
        """Frames of one round, as far as the lines read so far tell."""
        return self.candidates - self.skipped

    def step(self, now: float) -> float | None:
        self._node.received()  # nobody reads this end; it must not fill up
        if self._due is None or now - self._due > MAX_LATE_SECONDS:
            self._due = now
        while self._pending is not None and self._due <= now:
            self._node.send(self._pending[1])
            self.done += 1
            self._advance()
            if self._pending is not None:
                self._due += self._pending[0] / self._speed
        return self._due if self._pending is not None else None

    def describe(self) -> str:
        text = f"replay of {self._path.name}: {self.done} of {self.total} frames"
        if self.rounds:
            text += f", round {self.rounds + 1}"
        if self.skipped:
            text += f", {self.skipped} lines skipped"
        return text + (", finished" if self._is_over else "")

    def close(self) -> None:
        self._node.close()

    def _advance(self) -> None:
        self._pending = next(self._paced, None)
        if self._pending is None and self._loop and self.done:
            self.rounds += 1
            self.done = self.skipped = 0
            self._paced = paced(self._read())
            if (first := next(self._paced, None)) is not None:
                self._pending = (FALLBACK_SECONDS, first[1])
        self._is_over = self._pending is None

    def _read(self) -> Iterator[Frame]:
        try:
            with self._path.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    if (frame := self._parse(number, line)) is not None:
                        yield frame
        except OSError as error:
            raise _unreadable(self._path, error) from error

    def _parse(self, number: int, line: bytes) -> Frame | None:
        try:
            return parse_line(line.decode("latin-1"))
        except CandumpSyntaxError as error:
            self.skipped += 1
            logger.debug("%s line %d skipped: %s", self._path.name, number, error)
            return None


def _count_candidates(path: Path) -> int:
    """Lines that are neither blank nor comments; most of a recording is that, one frame a line."""
    comments = (b"#", b";", b"//")
    try:
        with path.open("rb") as lines:
            stripped = (line.strip() for line in lines)
            return sum(1 for line in stripped if line and not line.startswith(comments))
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ReplayFileError:
    return ReplayFileError(f"{path}: {error.strerror or error}")
