"""Counts, rates, gaps and bus load of a table of frames."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

KEY = ("channel", "extended", "id")
"""What tells one stream of frames from another; the number alone never does."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time a table covers: from its lowest to its highest stamp, whatever their order."""

    first: float
    last: float
    backward_steps: int

    @property
    def duration(self) -> float:
        """Seconds, in the microsecond resolution of candump stamps."""
        return round(self.last - self.first, 6)

    def warnings(self) -> list[str]:
        if not self.backward_steps:
            return []
        text = (
            f"time goes back at {self.backward_steps} frames: the duration is from the lowest to"
            " the highest stamp, and those steps are left out of the gaps"
        )
        return [text]


@dataclass(frozen=True, slots=True)
class IdStatistics:
    """One (channel, extended, id): ``rate_hz`` over the whole table's duration, gaps in ms."""

    channel: str
    is_extended: bool
    arbitration_id: int
    frame_count: int
    share: float
    rate_hz: float | None
    dlcs: list[int]
    first_seen: float
    last_seen: float
    mean_gap_ms: float | None
    min_gap_ms: float | None
    max_gap_ms: float | None
    gap_jitter_ms: float | None


def data_frames(frames: pl.DataFrame) -> pl.DataFrame:
    """Without error frames, whose identifier and payload are a report of the controller."""
    return frames.filter(~pl.col("error"))


def span(frames: pl.DataFrame) -> Span:
    """Of at least one frame."""
    first, last, steps = frames.select(
        pl.col("time").min().alias("first"),
        pl.col("time").max().alias("last"),
        (pl.col("time").diff() < 0).sum().alias("steps"),
    ).row(0)
    return Span(first, last, steps)


def channels(frames: pl.DataFrame) -> list[str]:
    return sorted(frames["channel"].unique().to_list())


def unique_ids(frames: pl.DataFrame) -> int:
    """Distinct (extended, id) pairs of data and remote frames over all channels."""
    return data_frames(frames).select("extended", "id").n_unique()


def count(frames: pl.DataFrame, flag: str) -> int:
    """Rows on which a boolean column is set."""
    return frames.filter(pl.col(flag)).height


def length_distribution(frames: pl.DataFrame) -> dict[str, int]:
    """Payload length in bytes -> number of frames, without error frames."""
    counted = data_frames(frames).group_by("length").len().sort("length")
    return {str(length): count for length, count in counted.iter_rows()}


def by_id(frames: pl.DataFrame, top: int | None = None) -> list[IdStatistics]:
    """Statistics per key, most frequent first; ties by channel, type and identifier."""
    data = data_frames(frames)
    if data.is_empty():
        return []
    duration = span(frames).duration
    gap = pl.col("time").diff().over(KEY) * 1000
    grouped = (
        data.with_columns(pl.when(gap >= 0).then(gap).alias("gap"))
        .group_by(KEY)
        .agg(
            pl.len().alias("count"),
            pl.col("length").unique().sort().alias("dlcs"),
            pl.col("time").min().alias("first"),
            pl.col("time").max().alias("last"),
            pl.col("gap").mean().alias("mean"),
            pl.col("gap").min().alias("min"),
            pl.col("gap").max().alias("max"),
            pl.when(pl.col("gap").count() > 1).then(pl.col("gap").std(ddof=0)).alias("jitter"),
        )
        .sort("count", *KEY, descending=[True, False, False, False])
    )
    return [
        IdStatistics(
            channel=row["channel"],
            is_extended=row["extended"],
            arbitration_id=row["id"],
            frame_count=row["count"],
            share=round(row["count"] / data.height, 4),
            rate_hz=round(row["count"] / duration, 3) if duration > 0 else None,
            dlcs=row["dlcs"],
            first_seen=row["first"],
            last_seen=row["last"],
            mean_gap_ms=_milliseconds(row["mean"]),
            min_gap_ms=_milliseconds(row["min"]),
            max_gap_ms=_milliseconds(row["max"]),
            gap_jitter_ms=_milliseconds(row["jitter"]),
        )
        for row in (grouped if top is None else grouped.head(top)).iter_rows(named=True)
    ]


def _milliseconds(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, 3)
