"""The part of a capture that a call asks for, read and checked alike by every tool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from service.arguments import Reads
from service.context import Context
from service.errors import (
    CaptureEmptyError,
    InvalidAnalysisSecondsError,
    InvalidMaxFramesError,
)
from service.logs import candump
from service.logs.table import FrameTable

File = Annotated[str, Reads(), Field(description="A capture in the captures root.")]
Offset = Annotated[int, Field(ge=0, description="Skip that many frames first.")]
MaxFrames = Annotated[int | None, Field(description="Frames to look at, at least 1.")]
Seconds = Annotated[
    float | None, Field(description="Only that long from the first frame's stamp on, above 0.")
]


@dataclass(frozen=True, slots=True)
class Window:
    """Bounds as given; both limits are judged here, so that they fail with codes of their own.

    Errors: InvalidMaxFramesError, InvalidAnalysisSecondsError.
    """

    offset: int = 0
    max_frames: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.max_frames is not None and self.max_frames < 1:
            raise InvalidMaxFramesError(f"'max_frames' is {self.max_frames}")
        if self.seconds is not None and not self.seconds > 0:
            raise InvalidAnalysisSecondsError(f"'seconds' is {self.seconds:g}")

    def of(self, table: FrameTable, file: str) -> FrameTable:
        """Errors: CaptureEmptyError (the window begins behind the last frame)."""
        part = table.window(self.offset, self.max_frames, self.seconds)
        if not len(part):
            raise CaptureEmptyError(
                f"capture '{file}' has {len(table)} frames, none from offset {self.offset} on",
                hint="Choose a smaller 'offset'.",
            )
        return part


def read_window(context: Context, file: str, window: Window) -> FrameTable:
    """Errors: as of ``Files.capture``, ``candump.read`` and ``Window.of``."""
    return window.of(candump.read(context.files.capture(file)), file)


def version(path: Path) -> tuple[int, int]:
    """What changes with the content of a file: a cursor into another content would lie."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size
