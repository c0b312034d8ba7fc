"""Frames as columns: the form in which every recorded or listed frame is analysed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from service.model.candump import format_line
from service.model.frame import Frame

SCHEMA = pl.Schema(
    {
        "time": pl.Float64(),  # seconds, as written in the capture
        "channel": pl.String(),
        "id": pl.UInt32(),  # without flag bits; of an error frame: its class bits
        "extended": pl.Boolean(),
        "fd": pl.Boolean(),
        "brs": pl.Boolean(),
        "esi": pl.Boolean(),
        "remote": pl.Boolean(),
        "error": pl.Boolean(),
        "tx": pl.Boolean(),
        "length": pl.UInt8(),  # bytes; of a remote frame: the length it asks for
        "data": pl.Binary(),
    }
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Lines that are no frames: how many, and the first few as (line number, reason)."""

    count: int = 0
    first: tuple[tuple[int, str], ...] = ()

    def warnings(self) -> list[str]:
        if not self.count:
            return []
        shown = "; ".join(f"line {number}: {reason}" for number, reason in self.first)
        return [f"{self.count} lines are no frames and were skipped: {shown}"]


@dataclass(frozen=True, slots=True)
class FrameTable:
    """Frames in the order in which they were recorded, with the columns of ``SCHEMA``."""

    frames: pl.DataFrame
    skipped: Skipped = Skipped()

    def __len__(self) -> int:
        return self.frames.height

    def __iter__(self) -> Iterator[Frame]:
        for row in self.frames.iter_rows():
            yield _frame(row)

    def lines(self) -> list[str]:
        """The frames as candump log lines."""
        return [format_line(frame) for frame in self]

    def filter(self, condition: pl.Expr) -> FrameTable:
        return replace(self, frames=self.frames.filter(condition))

    def slice(self, start: int, count: int | None = None) -> FrameTable:
        return replace(self, frames=self.frames.slice(start, count))

    def window(
        self, offset: int = 0, max_frames: int | None = None, seconds: float | None = None
    ) -> FrameTable:
        """A part of the capture: skip ``offset`` frames, then keep those whose stamp is at most
        ``seconds`` after (and not before) the first one's, ``max_frames`` at most."""
        part = self.frames.slice(offset)
        if seconds is not None and part.height:
            start = part["time"][0]
            part = part.filter(pl.col("time").is_between(start, start + seconds))
        if max_frames is not None:
            part = part.head(max_frames)
        return replace(self, frames=part)


def from_frames(frames: Iterable[Frame]) -> FrameTable:
    """Columns from single frames, such as those of a live bus."""
    rows = [
        (
            frame.timestamp,
            frame.channel,
            frame.arbitration_id,
            frame.is_extended,
            frame.is_fd,
            frame.bitrate_switch,
            frame.error_state_indicator,
            frame.is_remote,
            frame.is_error,
            frame.is_tx,
            frame.length,
            frame.data,
        )
        for frame in frames
    ]
    return FrameTable(pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def _frame(row: tuple[Any, ...]) -> Frame:
    time, channel, number, extended, fd, brs, esi, remote, error, tx, length, data = row
    return Frame(
        arbitration_id=number,
        data=data,
        timestamp=time,
        channel=channel,
        is_extended=bool(extended),
        is_fd=bool(fd),
        bitrate_switch=bool(brs),
        error_state_indicator=bool(esi),
        is_remote=bool(remote),
        is_error=bool(error),
        is_tx=bool(tx),
        remote_length=length if remote else 0,
    )
